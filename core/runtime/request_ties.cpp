// SPDX-License-Identifier: Apache-2.0
// core/runtime: state from run to run: inputs that outputs of the run before feed, and what plugins keep in their contexts.
#include <algorithm>
#include <cstring>

#include "core/loader/calls.hpp"
#include "core/runtime/request_state.hpp"
#include "core/support/text.hpp"
#include "core/tensor_io/element.hpp"

namespace optima {
namespace {

bool can_be_one(const TensorInfo& a, const TensorInfo& b) {
  if (a.unranked || b.unranked) return true;
  return std::equal(a.shape.begin(), a.shape.end(), b.shape.begin(), b.shape.end(), [](int64_t x, int64_t y) { return x < 0 || y < 0 || x == y; });
}

std::string shape_of(const TensorInfo& info) { return info.unranked ? "of any rank" : shape_text(info.shape); }

}  // namespace

Status Request::State::check_tie(size_t output, size_t input) const {
  const TensorInfo &out = model.outputs()[output], &in = model.inputs()[input];
  const std::string what = cat("output ", quote(out.name)), wanted = cat(" as input ", quote(in.name));
  if (out.dtype != in.dtype) return invalid_input(cat(what, ": found type ", dtype_name(out.dtype), ", wanted ", dtype_name(in.dtype), wanted));
  if (!can_be_one(out, in)) return invalid_input(cat(what, ": found shape ", shape_of(out), ", wanted ", shape_of(in), wanted));
  for (const Tie& t : ties) {
    const bool is_output = t.output == output;
    if (!is_output && t.input != plan.inputs[input]) continue;
    return usage_error(cat(is_output ? what : cat("input ", quote(in.name)), " is tied to ",
                           is_output ? cat("input ", quote(buffers.slots[t.input].slot->name)) : cat("output ", quote(model.outputs()[t.output].name)),
                           " already, wanted one that is not"));
  }
  return {};
}

Status Request::State::tie(size_t output, size_t input) {
  OPTIMA_RETURN_IF_ERROR(check_tie(output, input));
  Tie tie;
  tie.input = plan.inputs[input];
  tie.output = output;
  tie.dims.reserve(kMostDims);
  ties.push_back(std::move(tie));
  has_outputs = false;
  buffers.slots[plan.inputs[input]].tied = true;
  const OutputSource& source = plan.outputs[output];
  if (source.slot == OPTIMA_NONE || source.is_alias) return {};
  SlotState& out = buffers.slots[source.slot];
  out.tied = true;
  if (!out.slot->is_static || out.slot->adopts == OPTIMA_NONE) return {};
  out.own = {};  // it takes the state's buffer over
  out.data = nullptr;
  out.publish();
  return {};
}

// After the inputs that are the user's.
Status Request::State::load_states() {
  for (Tie& t : ties) OPTIMA_RETURN_IF_ERROR(load_state(t).within(cat("input ", quote(buffers.slots[t.input].slot->name))));
  for (const Tie& t : ties) OPTIMA_RETURN_IF_ERROR(place_next(t).within(cat("output ", quote(model.outputs()[t.output].name))));
  return {};
}

Status Request::State::load_state(Tie& tie) {
  SlotState& s = buffers.slots[tie.input];
  if (tie.is_fresh) {
    if (!s.has_input && !s.slot->is_static) return invalid_input("is not set, wanted what it starts from, for its shape is known only when running");
    tie.dims = s.has_input ? s.input.shape : s.slot->shape;
    tie.size = s.has_input ? s.input.size : s.slot->size;
  } else if (s.given_away) {
    return usage_error("a run that did not end well has overwritten its state, wanted a reset or a new input");
  }
  OPTIMA_RETURN_IF_ERROR(check_sizes(model.package().sizes, s.slot->symbols, tie.dims));
  OPTIMA_RETURN_IF_ERROR(stage(s, tie.size, tie.is_fresh ? 0 : tie.size));
  if (tie.is_fresh && tie.size) {
    if (s.has_input) std::memmove(s.data, s.input.data, tie.size);  // which may be an output of the last run
    else std::memset(s.data, 0, tie.size);
  }
  s.size = tie.size;
  s.dims.assign(tie.dims.begin(), tie.dims.end());
  s.expendable = true;
  s.given_away = false;
  s.publish();
  return {};
}

// The last run's output is the state now, so this run's needs another place, unless a step finds it one.
Status Request::State::place_next(const Tie& tie) {
  SlotState* const out = owner(plan.outputs[tie.output]);
  if (!out || !out->slot->is_static || out->slot->adopts != OPTIMA_NONE) return {};
  out->alloc_error.clear();
  if (!out->place(out->slot->size)) return io_error(out->alloc_error);
  out->publish();
  return {};
}

// The slot that a subgraph or a driven node writes the output to; null when the output is an input, a constant or another output.
SlotState* Request::State::owner(const OutputSource& source) {
  return source.slot == OPTIMA_NONE || source.is_alias ? nullptr : &buffers.slots[source.slot];
}

// All or none. Copies come before buffers change hands, for an output may be an input, or another output.
Status Request::State::keep_states() {
  for (Tie& t : ties) OPTIMA_RETURN_IF_ERROR(ready_state(t));
  for (Tie& t : ties) {
    const TensorView value = frame.view(plan.outputs[t.output]);
    t.dims.assign(value.dims.begin(), value.dims.end());
    t.size = value.bytes.size();
    SlotState& in = buffers.slots[t.input];
    SlotState* const out = owner(plan.outputs[t.output]);
    std::swap(in.own, out ? out->own : t.next);
    in.given_away = t.is_fresh = false;
  }
  return {};
}

Status Request::State::ready_state(Tie& tie) {
  const OutputSource& source = plan.outputs[tie.output];
  const Slot& slot = *buffers.slots[tie.input].slot;
  const TensorView value = frame.view(source);
  if (!fits(slot, value.dims))
    return invalid_input(cat("output ", quote(model.outputs()[tie.output].name), ": found shape ", shape_text(value.dims), ", wanted ", shape_text(slot.shape), " as input ", quote(slot.name)));
  if (owner(source)) return {};
  const uint64_t size = value.bytes.size();
  if (!tie.next.reserve(size, slot.own_alignment())) return io_error(cat("no memory for ", human_bytes(size)));
  copy(tie.next.data(), value.bytes.data(), size, static_cast<uint32_t>(tie.output));
  return {};
}

Status Request::State::reset() {
  for (Tie& t : ties) t.is_fresh = true;
  Status first;
  frame.each_context([&](ExecutionContext& context, uint32_t position) {
    const SubgraphInfo& info = model.subgraphs()[position];
    const seam::ForSubgraph calls_for(info.index);
    if (const Status s = context.reset(); first.ok()) first = s.within(cat("subgraph ", info.index, " on ", info.device));
  });
  return first;
}

}  // namespace optima
