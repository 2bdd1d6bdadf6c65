// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/buffers.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "core/support/text.hpp"
#include "core/tensor_io/element.hpp"

namespace optima {
namespace {

// The seam's alloc: called by the plugin while it executes, so nothing here may throw.
int32_t allocate_output(void* host_data, const int64_t* dims, int32_t rank) {
  auto& slot = *static_cast<SlotState*>(host_data);
  try {
    if (rank < 0 || static_cast<size_t>(rank) > kMostDims || (rank > 0 && !dims)) {
      slot.alloc_error = cat("the plugin asked for rank ", rank, ", wanted 0 to ", kMostDims);
      return OPTIMA_INVALID_ARGUMENT;
    }
    slot.dims.assign(dims, dims + rank);
    const std::optional<uint64_t> bytes = byte_size(slot.slot->dtype, slot.dims);
    if (!bytes) {
      slot.alloc_error = cat("the plugin asked for shape ", shape_text(slot.dims), ", wanted dims from 0 and a size that exists");
      return OPTIMA_INVALID_ARGUMENT;
    }
    if (slot.guest) slot.outgrown = slot.own;
    if (!slot.place(*bytes)) return OPTIMA_MEMORY;
    slot.allocated = true;
    slot.publish();
    return OPTIMA_OK;
  } catch (const std::bad_alloc&) {
    return OPTIMA_MEMORY;
  }
}

bool is_aligned(const void* p, uint64_t alignment) { return reinterpret_cast<uintptr_t>(p) % alignment == 0; }

constexpr uint64_t kMostBytes = uint64_t{1} << 62;  // what an allocator rounds up stays a number

}  // namespace

bool Buffer::reserve(uint64_t size, uint64_t alignment, uint64_t keep) {
  if (size > kMostBytes) return false;
  if (data_ && size <= capacity_ && alignment <= alignment_) return true;
  keep = std::min(keep, capacity_);
  if (keep && size > capacity_) size = std::max(size, capacity_ + capacity_ / 2);
  const std::align_val_t align{alignment};
  const uint64_t bytes = std::max<uint64_t>(size, 1);
  auto* memory = static_cast<std::byte*>(::operator new(bytes, align, std::nothrow));
  if (!memory) return false;
  if (keep) std::memcpy(memory, data_.get(), keep);
  data_ = std::shared_ptr<std::byte>(memory, [align](std::byte* p) { ::operator delete(p, align); });
  capacity_ = size;
  alignment_ = alignment;
  return true;
}

void SlotState::publish() {
  for (optima_tensor* view : uses) {
    view->data = data;
    view->size = size;
    view->shape = dims.data();
    view->rank = static_cast<int32_t>(dims.size());
  }
  if (guest) guest->data = data;
  for (SlotState* tenant : tenants) {
    tenant->data = data;
    tenant->publish();
  }
}

void SlotState::take_in(SlotState& input, bool is_last) {
  outgrown = {};
  room = input.size;
  holds_input = is_last && input.expendable && input.data && input.data == input.own.data() && slot->home != Slot::Home::Arena;
  if (!holds_input) return;
  std::swap(own, input.own);
  input.given_away = true;
}

bool SlotState::place(uint64_t bytes) {
  const uint64_t wanted = std::max({bytes, slot->needed, room});
  size = bytes;
  stage_output = bound && (tied || holds_input || bound_capacity < wanted || !is_aligned(bound, slot->alignment));
  if (bound && bound_capacity < bytes) {
    alloc_error = cat("found a bound buffer of ", bound_capacity, " bytes, wanted ", bytes);
    return false;
  }
  if (bound && !stage_output) {
    data = bound;
    return true;
  }
  if (!own.reserve(wanted, slot->own_alignment(), holds_input ? room : 0)) {
    alloc_error = cat("no memory for ", human_bytes(wanted));
    return false;
  }
  data = own.data();
  return true;
}

RequestBuffers::RequestBuffers(const RunPlan& plan) : slots(plan.slots.size()), steps(plan.steps.size()), plan_(plan) {
  for (size_t i = 0; i < slots.size(); ++i) {
    slots[i].slot = &plan.slots[i];
    slots[i].dims.reserve(kMostDims);
    if (plan.slots[i].is_static) slots[i].dims = plan.slots[i].shape;
    slots[i].size = plan.slots[i].size;
    slots[i].expendable = plan.slots[i].home != Slot::Home::Input;
    const bool is_tenant = plan.slots[i].lives_in != OPTIMA_NONE;
    slots[i].storage = &slots[is_tenant ? plan.slots[i].lives_in : i];
    if (is_tenant) slots[i].storage->tenants.push_back(&slots[i]);
  }
  for (size_t k = 0; k < steps.size(); ++k) {
    const Step& step = plan.steps[k];
    steps[k].inputs.resize(step.inputs.size());
    steps[k].outputs.resize(step.outputs.size());
    for (size_t i = 0; i < step.inputs.size(); ++i) add_view(step.inputs[i], steps[k].inputs[i], false);
    for (size_t i = 0; i < step.outputs.size(); ++i) add_view(step.outputs[i], steps[k].outputs[i], true);
    for (const Alias& a : step.aliases) slots[step.outputs[a.output]].guest = &steps[k].inputs[a.input];
  }
}

void RequestBuffers::add_view(uint32_t slot, optima_tensor& view, bool is_output) {
  const Slot& s = plan_.slots[slot];
  view = {};
  view.struct_size = sizeof view;
  view.name = {s.name.data(), s.name.size()};
  view.dtype = s.dtype;
  view.mem_kind = OPTIMA_MEM_HOST;
  view.fd = -1;
  if (is_output && !s.is_static) {
    view.host_data = &slots[slot];
    view.alloc = allocate_output;
  }
  slots[slot].uses.push_back(&view);
}

Status RequestBuffers::allocate() {
  if (!arena_.reserve(plan_.arena_bytes, plan_.arena_alignment)) return io_error(cat("no memory for an arena of ", human_bytes(plan_.arena_bytes)));
  for (SlotState& state : slots) {
    const Slot& slot = *state.slot;
    if (slot.lives_in != OPTIMA_NONE) continue;  // comes with its storage
    if (slot.home == Slot::Home::Arena) state.data = arena_.data() + slot.offset;
    else if (slot.home == Slot::Home::Output && slot.is_static && !state.place(slot.size))
      return io_error(cat("output ", quote(slot.name), ": ", state.alloc_error));
    state.publish();
  }
  return {};
}

}  // namespace optima
