// SPDX-License-Identifier: Apache-2.0
// core/runtime: If, Loop and Scan over their bodies' subgraphs.
#include "core/runtime/flow.hpp"

#include <algorithm>
#include <cstring>

#include "core/runtime/slices.hpp"
#include "core/support/text.hpp"
#include "core/tensor_io/element.hpp"

namespace optima {
namespace {

class Runner {
 public:
  Runner(Frame& around, const FlowStep& step, FlowState& state, const RunShare& share) : around_(around), step_(step), state_(state), share_(share) {}

  Status branch() {
    OPTIMA_ASSIGN(const bool condition, boolean(input(kBranchCondition), "condition"));
    const size_t chosen = condition ? 0 : 1;
    Frame& body = *state_.bodies[chosen];
    OPTIMA_RETURN_IF_ERROR(feed_captures(chosen));
    OPTIMA_RETURN_IF_ERROR(body.run(share_));
    for (size_t k = 0; k < step_.outputs.size(); ++k) OPTIMA_RETURN_IF_ERROR(store(k, body.view(body.plan.outputs[k])));
    return {};
  }

  Status loop() {
    int64_t most = INT64_MAX;
    bool go = true;
    if (present(kTripCount)) {
      OPTIMA_ASSIGN(most, trip_count(input(kTripCount)));
    }
    if (present(kLoopCondition)) {
      OPTIMA_ASSIGN(go, boolean(input(kLoopCondition), "condition"));
    }
    OPTIMA_RETURN_IF_ERROR(begin());
    int64_t trip = 0;
    for (; trip < most && go; ++trip) OPTIMA_RETURN_IF_ERROR(at_trip(trip, loop_trip(trip, go)));
    return finish(trip);
  }

  Status scan() {
    const size_t first = carried_in(signature_.carried);
    int64_t length = -1;
    for (size_t k = 0; k < signature_.scan_inputs; ++k) OPTIMA_RETURN_IF_ERROR(add_slices(k, input(first + k), dtype(first + k), length));
    OPTIMA_RETURN_IF_ERROR(begin());
    for (int64_t trip = 0; trip < length; ++trip) OPTIMA_RETURN_IF_ERROR(at_trip(trip, scan_trip(trip)));
    return finish(length);
  }

 private:
  // ---- inputs

  bool present(size_t k) const { return step_.inputs[k].slot != OPTIMA_NONE || step_.inputs[k].dtype != OPTIMA_UNDEFINED; }
  TensorView input(size_t k) const { return around_.view(step_.inputs[k]); }
  int32_t dtype(size_t k) const {
    const OutputSource& source = step_.inputs[k];
    return source.slot == OPTIMA_NONE ? source.dtype : around_.plan.slots[source.slot].dtype;
  }

  static Result<bool> boolean(const TensorView& v, std::string_view what) {
    if (const std::optional<int64_t> value = flow_scalar(OPTIMA_BOOL, v.bytes)) return *value != 0;
    return invalid_input(cat("the ", what, " has shape ", shape_text(v.dims), ", wanted one element"));
  }
  static Result<int64_t> trip_count(const TensorView& v) {
    if (const std::optional<int64_t> value = flow_scalar(OPTIMA_I64, v.bytes)) return *value;
    return invalid_input(cat("the trip count has shape ", shape_text(v.dims), ", wanted one element"));
  }

  Status feed_captures(size_t body) {
    Frame& frame = *state_.bodies[body];
    const std::vector<uint32_t>& captures = step_.bodies[body].captures;
    const size_t first = frame.plan.inputs.size() - captures.size();
    for (size_t i = 0; i < captures.size(); ++i) {
      const SlotState& s = around_.buffers.slots[captures[i]];
      OPTIMA_RETURN_IF_ERROR(frame.feed(frame.plan.inputs[first + i], {{s.data, s.size}, s.dims}));
    }
    return {};
  }

  // ---- trips

  Frame& body() { return *state_.bodies[0]; }

  // The place of carried value k among the inputs of the node and of its body, and among the body's outputs. Behind the last of them
  // stand what is scanned, and the pieces.
  size_t carried_in(size_t k) const { return signature_.inputs_ahead + k; }
  size_t carried_out(size_t k) const { return signature_.outputs_ahead + k; }

  Status begin() {
    for (size_t k = 0; k < signature_.carried; ++k) state_.carried[k].view = input(carried_in(k));
    for (FlowState::Gathered& g : state_.gathered) g.bytes.clear();
    return feed_captures(0);
  }

  Status at_trip(int64_t trip, const Status& status) const {
    return status.ok() || status.kind() == StatusKind::Cancelled ? status : status.within(cat("trip ", trip));
  }

  // A body may call its counter and condition a scalar or a tensor of one element.
  Status feed_scalar(size_t input, const void* value, size_t size) {
    static constexpr int64_t kOne[] = {1};
    const uint32_t number = body().plan.inputs[input];
    const Slot& slot = body().plan.slots[number];
    const bool ranked = !slot.unranked && slot.shape.size() == 1;
    return body().feed(number, {{static_cast<const std::byte*>(value), size}, {kOne, ranked ? size_t{1} : size_t{0}}});
  }

  Status loop_trip(const int64_t& trip, bool& go) {
    const uint8_t condition = go;
    OPTIMA_RETURN_IF_ERROR(feed_scalar(kTripNumber, &trip, sizeof trip));
    OPTIMA_RETURN_IF_ERROR(feed_scalar(kGoesOn, &condition, sizeof condition));
    OPTIMA_RETURN_IF_ERROR(feed_carried());
    OPTIMA_RETURN_IF_ERROR(run_body());
    OPTIMA_ASSIGN(go, boolean(body().view(body().plan.outputs[kGoesOnNext]), "condition that the body gives"));
    return take(trip == 0);
  }

  Status scan_trip(int64_t trip) {
    OPTIMA_RETURN_IF_ERROR(feed_carried());
    for (size_t k = 0; k < slicers_.size(); ++k) {
      const bool backward = step_.scan_inputs[k].backward;
      Result<TensorView> slice = slicers_[k].slice(backward ? slicers_[k].length() - 1 - trip : trip, state_.slices[k]);
      if (!slice.ok()) return slice.status();
      OPTIMA_RETURN_IF_ERROR(body().feed(body().plan.inputs[carried_in(signature_.carried + k)], *slice));
    }
    OPTIMA_RETURN_IF_ERROR(run_body());
    return take(trip == 0);
  }

  Status run_body() {
    OPTIMA_RETURN_IF_ERROR(share_.stop());
    return body().run(share_);
  }

  Status feed_carried() {
    for (size_t k = 0; k < signature_.carried; ++k) {
      FlowState::Carried& c = state_.carried[k];
      OPTIMA_RETURN_IF_ERROR(body().feed(body().plan.inputs[carried_in(k)], c.view, &c.now));
    }
    return {};
  }

  // What a trip gave. Copies come before buffers change hands, for an output may be an input of the body, or another output.
  Status take(bool is_first_trip) {
    const std::vector<OutputSource>& outputs = body().plan.outputs;
    for (size_t k = 0; k < signature_.scan_outputs; ++k)
      OPTIMA_RETURN_IF_ERROR(gather(state_.gathered[k], body().view(outputs[carried_out(signature_.carried + k)]), k, is_first_trip));
    for (const bool hand_over : {false, true})
      for (size_t k = 0; k < signature_.carried; ++k)
        if (owns(outputs[carried_out(k)]) == hand_over) OPTIMA_RETURN_IF_ERROR(carry(state_.carried[k], outputs[carried_out(k)]));
    for (FlowState::Carried& c : state_.carried) {
      std::swap(c.now, c.next);
      c.view = {{c.now.data(), c.view.bytes.size()}, c.dims};
    }
    return {};
  }

  bool owns(const OutputSource& source) { return source.slot != OPTIMA_NONE && !source.is_alias; }

  // The new value goes to c.next: the body's own buffer changes hands, anything else is copied.
  Status carry(FlowState::Carried& c, const OutputSource& source) {
    const TensorView value = body().view(source);
    c.dims.assign(value.dims.begin(), value.dims.end());
    c.view.bytes = value.bytes;
    if (!owns(source)) {
      if (!c.next.reserve(value.bytes.size(), 64)) return io_error(cat("no memory for ", human_bytes(value.bytes.size())));
      if (!value.bytes.empty()) std::memcpy(c.next.data(), value.bytes.data(), value.bytes.size());
      return {};
    }
    SlotState& slot = body().buffers.slots[source.slot];
    std::swap(slot.own, c.next);
    if (!slot.slot->is_static) return {};
    if (!slot.place(slot.slot->size)) return io_error(cat("output ", quote(slot.slot->name), ": ", slot.alloc_error));
    slot.publish();
    return {};
  }

  Status gather(FlowState::Gathered& g, const TensorView& piece, size_t k, bool is_first_trip) const {
    if (is_first_trip) g.dims.assign(piece.dims.begin(), piece.dims.end());
    else if (!std::equal(g.dims.begin(), g.dims.end(), piece.dims.begin(), piece.dims.end()))
      return invalid_input(cat("scan output ", k, " has shape ", shape_text(piece.dims), ", wanted ", shape_text(g.dims), " as in trip 0"));
    g.bytes.insert(g.bytes.end(), piece.bytes.begin(), piece.bytes.end());
    return {};
  }

  // ---- scan inputs and outputs

  Status add_slices(size_t k, const TensorView& value, int32_t type, int64_t& length) {
    OPTIMA_ASSIGN(const Slicer slicer, Slicer::over(value, type, step_.scan_inputs[k]));
    if (length >= 0 && slicer.length() != length)
      return invalid_input(cat("scan input ", k, " has length ", slicer.length(), ", wanted ", length, " as scan input 0 has"));
    length = slicer.length();
    slicers_.push_back(slicer);
    return {};
  }

  Status finish(int64_t trips) {
    const size_t carried = signature_.carried;
    for (size_t k = 0; k < carried; ++k) OPTIMA_RETURN_IF_ERROR(store(k, state_.carried[k].view));
    for (size_t k = 0; k < signature_.scan_outputs; ++k) {
      FlowState::Gathered& g = state_.gathered[k];
      if (trips == 0) g.dims = dims_of_nothing(body().plan.outputs[carried_out(carried + k)]);
      OPTIMA_ASSIGN(const Assembly whole, assemble(g.bytes, g.dims, trips, step_.scan_outputs[k], state_.assembled));
      OPTIMA_RETURN_IF_ERROR(store(carried + k, {whole.bytes, whole.dims}));
    }
    return {};
  }

  // Without a trip nobody knows what the body would have made: what it says, unknown dims 0.
  std::vector<int64_t> dims_of_nothing(const OutputSource& source) {
    std::vector<int64_t> dims = source.slot == OPTIMA_NONE ? source.shape : body().plan.slots[source.slot].shape;
    for (int64_t& d : dims) d = std::max<int64_t>(d, 0);
    return dims;
  }

  Status store(size_t k, const TensorView& value) {
    return step_.outputs[k] == OPTIMA_NONE ? Status() : around_.store(step_.outputs[k], value);
  }

  Frame& around_;
  const FlowStep& step_;
  const FlowSignature& signature_ = step_.signature;
  FlowState& state_;
  const RunShare& share_;
  std::vector<Slicer> slicers_;
};

Status run_op(const FlowStep& step, Runner runner) {
  switch (step.signature.op) {
    case FlowOp::If: return runner.branch();
    case FlowOp::Loop: return runner.loop();
    case FlowOp::Scan: return runner.scan();
  }
  return internal_error("an operator that the host does not drive");
}

}  // namespace

Result<std::unique_ptr<FlowState>> FlowState::create(const FlowStep& step, std::span<const std::unique_ptr<LoadedProgram>> programs) {
  auto state = std::make_unique<FlowState>();
  for (const FlowBodyPlan& body : step.bodies) {
    state->bodies.push_back(std::make_unique<Frame>(body.plan));
    OPTIMA_RETURN_IF_ERROR(state->bodies.back()->create(programs));
  }
  state->carried.resize(step.signature.carried);
  state->gathered.resize(step.signature.scan_outputs);
  state->slices.resize(step.signature.scan_inputs);
  return state;
}

Status run_flow(Frame& around, const FlowStep& step, FlowState& state, const RunShare& share) {
  const Status status = run_op(step, Runner(around, step, state, share));
  return status.ok() || status.kind() == StatusKind::Cancelled ? status : status.within(cat("node ", quote(step.name)));
}

}  // namespace optima
