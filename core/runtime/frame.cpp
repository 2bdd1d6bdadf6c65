// SPDX-License-Identifier: Apache-2.0
// core/runtime: one graph being run: its steps' tensors, before and after (run.cpp goes through the steps).
#include "core/runtime/frame.hpp"

#include <algorithm>
#include <cstring>

#include "core/runtime/flow.hpp"
#include "core/support/text.hpp"
#include "core/tensor_io/element.hpp"

namespace optima {
namespace {

bool is_aligned(const void* p, uint64_t alignment) { return reinterpret_cast<uintptr_t>(p) % alignment == 0; }

bool is_known(const std::vector<int64_t>& shape) { return std::all_of(shape.begin(), shape.end(), [](int64_t d) { return d >= 0; }); }

// What a plugin says of an output against what the package says.
Status check_output(const Slot& slot, const std::vector<int64_t>& dims) {
  if (fits(slot, dims)) return {};
  return plugin_error(cat("output ", quote(slot.name), " got shape ", shape_text(dims), ", wanted ", shape_text(slot.shape)));
}

// What the host carries into a slot: of the slot's shape, and of the bytes that this shape has. Everything that copies relies on it.
Status check_carried(const Slot& slot, const TensorView& value) {
  if (!fits(slot, value.dims))
    return invalid_input(cat("tensor ", quote(slot.name), " got shape ", shape_text(value.dims), ", wanted ", shape_text(slot.shape)));
  const std::optional<uint64_t> bytes = byte_size(slot.dtype, value.dims);
  if (bytes == value.bytes.size()) return {};
  return invalid_input(cat("tensor ", quote(slot.name), " of type ", dtype_name(slot.dtype), " and shape ", shape_text(value.dims), " got ", value.bytes.size(),
                           " bytes, wanted ", bytes ? cat(*bytes) : "a size that exists"));
}

}  // namespace

bool fits(const Slot& slot, std::span<const int64_t> dims) {
  bool good = dims.size() <= kMostDims && (slot.unranked || dims.size() == slot.shape.size());
  for (size_t i = 0; good && !slot.unranked && i < dims.size(); ++i) good = slot.shape[i] < 0 || dims[i] < 0 || slot.shape[i] == dims[i];
  return good;
}

Frame::Frame(const RunPlan& p) : plan(p), buffers(p), contexts_(p.steps.size()), flows_(p.steps.size()) {}
Frame::~Frame() = default;

Status Frame::create(std::span<const std::unique_ptr<LoadedProgram>> programs) {
  for (size_t k = 0; k < plan.steps.size(); ++k) {
    if (plan.steps[k].flow) {
      OPTIMA_ASSIGN(flows_[k], FlowState::create(*plan.steps[k].flow, programs));
    } else {
      OPTIMA_ASSIGN(contexts_[k], programs[plan.steps[k].subgraph]->create_context());
    }
  }
  return buffers.allocate();
}

std::vector<const Frame*> Frame::bodies() const {
  std::vector<const Frame*> out;
  for (const auto& flow : flows_)
    if (flow)
      for (const auto& body : flow->bodies) out.push_back(body.get());
  return out;
}

Status Frame::feed(uint32_t number, const TensorView& value, Buffer* from) {
  SlotState& s = buffers.slots[number];
  OPTIMA_RETURN_IF_ERROR(check_carried(*s.slot, value));
  const uint64_t size = value.bytes.size(), wanted = std::max(size, s.slot->needed);
  const bool in_place = value.bytes.data() && size == wanted && is_aligned(value.bytes.data(), s.slot->alignment);
  if (!in_place) {
    if (!s.own.reserve(wanted, s.slot->own_alignment())) return io_error(cat("no memory for ", human_bytes(wanted)));
    if (size) std::memcpy(s.own.data(), value.bytes.data(), size);
    std::memset(s.own.data() + size, 0, wanted - size);
  } else if (from && s.slot->is_adopted && from->data() == value.bytes.data()) {
    std::swap(s.own, *from);
  }
  s.data = in_place ? const_cast<std::byte*>(value.bytes.data()) : s.own.data();
  s.size = size;
  s.dims.assign(value.dims.begin(), value.dims.end());
  s.expendable = from != nullptr;
  s.publish();
  return {};
}

Status Frame::store(uint32_t number, const TensorView& value) {
  SlotState& s = buffers.slots[number];
  OPTIMA_RETURN_IF_ERROR(check_carried(*s.slot, value));
  if (!s.slot->is_static) {
    s.dims.assign(value.dims.begin(), value.dims.end());
    s.alloc_error.clear();
    if (!s.place(value.bytes.size())) return invalid_input(cat("output ", quote(s.slot->name), ": ", s.alloc_error));
    s.publish();
  }
  if (!value.bytes.empty()) std::memcpy(s.data, value.bytes.data(), value.bytes.size());
  return {};
}

TensorView Frame::view(const OutputSource& source) const {
  if (source.slot == OPTIMA_NONE) return {{source.constant.data, source.constant.size}, source.shape};
  const SlotState& s = buffers.slots[source.slot];
  return {{s.data, s.size}, s.dims};
}

Status RunShare::stop() const {
  if (cancel.load(std::memory_order_relaxed)) return cancelled();
  if (deadline_ns != 0 && now_ns() >= deadline_ns) return {StatusKind::Timeout, "the run did not end before its deadline"};
  return {};
}

Status Frame::execute(size_t k, const RunShare& share) {
  if (const Step& step = plan.steps[k]; step.flow) return run_flow(*this, *step.flow, *flows_[k], share);
  return contexts_[k]->execute_within(buffers.steps[k].inputs, buffers.steps[k].outputs, share.control());
}

Status Frame::finish(size_t k, Status status, const RunShare& share, uint64_t start) {
  const Step& step = plan.steps[k];
  if (step.has_dynamic_output) status = status.ok() ? take_outputs(k) : alloc_failure(k, status);
  if (!status.ok()) {
    const SubgraphInfo& info = share.subgraphs[step.subgraph];
    return step.flow ? status : status.within(cat("subgraph ", info.index, " on ", info.device));
  }
  if (share.profiling) share.record(step.flow ? ProfileKind::FlowExecute : ProfileKind::SubgraphExecute, step.subgraph, start);
  return {};
}

// Inputs change hands first, so that outputs that grow keep their bytes; a plugin that is asked for shapes sees them where they lie.
Status Frame::prepare(size_t k) {
  const Step& step = plan.steps[k];
  for (const Alias& a : step.aliases) {
    SlotState& in = buffers.slots[step.inputs[a.input]];
    buffers.slots[step.outputs[a.output]].storage->take_in(in, a.is_last);
    buffers.steps[k].inputs[a.input].data = in.data;
  }
  if (step.has_dynamic_output) OPTIMA_RETURN_IF_ERROR(prepare_outputs(k));
  for (const Alias& a : step.aliases) OPTIMA_RETURN_IF_ERROR(settle_alias(k, a));
  return {};
}

// The output has a place, or will get one by alloc; there the input's value lies, and its view says so.
Status Frame::settle_alias(size_t k, const Alias& a) {
  const SlotState& in = buffers.slots[plan.steps[k].inputs[a.input]];
  SlotState& out = buffers.slots[plan.steps[k].outputs[a.output]];
  SlotState& storage = *out.storage;
  const bool waits_for_alloc = !out.slot->is_static && !out.allocated;
  if (storage.slot->home == Slot::Home::Arena) {
    if (in.size > storage.slot->needed)
      return plugin_error(cat("output ", quote(out.slot->name), " lives in the buffer of input ", quote(in.slot->name), ": found ", in.size, " bytes, wanted at most ", storage.slot->needed));
  } else if (waits_for_alloc) {
    const uint64_t bytes = std::max(in.size, out.slot->needed);
    if (!out.own.reserve(bytes, out.slot->own_alignment(), out.holds_input ? in.size : 0)) return io_error(cat("no memory for ", human_bytes(bytes)));
  } else if (storage.slot->is_static) {
    storage.alloc_error.clear();
    if (!storage.place(storage.slot->size)) return io_error(cat("output ", quote(storage.slot->name), ": ", storage.alloc_error));
    storage.publish();
  }
  std::byte* const at = waits_for_alloc ? out.own.data() : out.data;
  if (!storage.holds_input && in.size && at != in.data) std::memmove(at, in.data, in.size);
  storage.holds_input |= waits_for_alloc;
  buffers.steps[k].inputs[a.input].data = at;
  return {};
}

// Outputs whose shape the plugin can tell beforehand get their place now; for the others it calls alloc while it executes.
Status Frame::prepare_outputs(size_t k) {
  OPTIMA_ASSIGN(const std::vector<std::vector<int64_t>> shapes, contexts_[k]->output_shapes(buffers.steps[k].inputs));
  const Step& step = plan.steps[k];
  if (shapes.size() != step.outputs.size()) return plugin_error(cat("found ", shapes.size(), " output shapes, wanted ", step.outputs.size()));
  for (size_t i = 0; i < step.outputs.size(); ++i) {
    SlotState& s = buffers.slots[step.outputs[i]];
    if (s.slot->is_static) continue;
    OPTIMA_RETURN_IF_ERROR(check_output(*s.slot, shapes[i]));
    s.dims.assign(shapes[i].begin(), shapes[i].end());
    s.allocated = is_known(s.dims) && (!s.dims.empty() || !s.slot->unranked);
    s.data = nullptr;
    s.size = 0;
    s.alloc_error.clear();
    if (s.allocated) {
      const std::optional<uint64_t> bytes = byte_size(s.slot->dtype, s.dims);
      if (!bytes) return plugin_error(cat("output ", quote(s.slot->name), " of shape ", shape_text(s.dims), " is absurdly large"));
      if (!s.place(*bytes)) return alloc_failure(k, {});
    }
    s.publish();
    if (!s.allocated && s.slot->unranked) buffers.steps[k].outputs[i].rank = -1;
  }
  return {};
}

// When our alloc refused, its reason explains more than what the plugin made of it.
Status Frame::alloc_failure(size_t k, const Status& status) const {
  for (const uint32_t number : plan.steps[k].outputs) {
    const SlotState& s = buffers.slots[number];
    if (s.alloc_error.empty()) continue;
    const std::string message = cat("output ", quote(s.slot->name), ": ", s.alloc_error);
    return s.bound ? invalid_input(message) : plugin_error(message);
  }
  return status;
}

Status Frame::take_outputs(size_t k) {
  for (const uint32_t number : plan.steps[k].outputs) {
    SlotState& s = buffers.slots[number];
    if (s.slot->is_static) continue;
    if (!s.allocated) return plugin_error(cat("output ", quote(s.slot->name), " was left without a shape, wanted a call of alloc"));
    OPTIMA_RETURN_IF_ERROR(check_output(*s.slot, s.dims));
  }
  return {};
}

}  // namespace optima
