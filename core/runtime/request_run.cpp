// SPDX-License-Identifier: Apache-2.0
// core/runtime: one run: inputs in, subgraphs in order, outputs out. With static shapes nothing here allocates, locks or looks up.
#include <algorithm>
#include <cstring>
#include <exception>
#include <map>
#include <new>

#include "core/runtime/request_state.hpp"
#include "core/support/text.hpp"
#include "core/tensor_io/element.hpp"

namespace optima {
namespace {

bool is_aligned(const void* p, uint64_t alignment) { return reinterpret_cast<uintptr_t>(p) % alignment == 0; }

bool is_known(const std::vector<int64_t>& shape) { return std::all_of(shape.begin(), shape.end(), [](int64_t d) { return d >= 0; }); }

// What a plugin says of an output against what the package says.
Status check_output(const Slot& slot, const std::vector<int64_t>& dims) {
  bool fits = dims.size() <= kMostDims && (slot.unranked || dims.size() == slot.shape.size());
  for (size_t i = 0; fits && !slot.unranked && i < dims.size(); ++i) fits = slot.shape[i] < 0 || dims[i] < 0 || slot.shape[i] == dims[i];
  if (fits) return {};
  return plugin_error(cat("output ", quote(slot.name), " got shape ", shape_text(dims), ", wanted ", shape_text(slot.shape)));
}

}  // namespace

Status Request::State::take_input(uint32_t number, Tensor tensor) {
  SlotState& s = buffers.slots[number];
  s.stage_input = tensor.size < s.slot->needed || !is_aligned(tensor.data, s.slot->alignment);
  if (s.stage_input) {
    const uint64_t bytes = std::max(tensor.size, s.slot->needed);
    if (!s.own.reserve(bytes, s.slot->alignment)) return io_error(cat("no memory for ", human_bytes(bytes)));
    std::memset(s.own.data() + tensor.size, 0, bytes - tensor.size);
  }
  s.data = s.stage_input ? s.own.data() : tensor.data;
  s.size = tensor.size;
  s.dims.assign(tensor.shape.begin(), tensor.shape.end());
  s.input = std::move(tensor);
  s.has_input = true;
  s.publish();
  return {};
}

void Request::State::copy(std::byte* to, const std::byte* from, uint64_t size, uint32_t index) {
  const uint64_t start = profiling ? now_ns() : 0;
  if (size) std::memcpy(to, from, size);
  if (profiling) record(ProfileKind::BufferCopy, index, start);
}

Status Request::State::load_inputs() {
  bool has_dynamic = false;
  for (size_t i = 0; i < plan.inputs.size(); ++i) {
    SlotState& s = buffers.slots[plan.inputs[i]];
    if (!s.has_input) return invalid_input(cat("input ", quote(s.slot->name), " is not set"));
    if (s.stage_input) copy(s.own.data(), s.input.data, s.input.size, static_cast<uint32_t>(i));
    has_dynamic |= !s.slot->is_static;
  }
  return has_dynamic ? check_symbols() : Status();
}

// Equal symbols of the model's inputs must have equal sizes.
Status Request::State::check_symbols() const {
  std::map<std::string_view, std::pair<int64_t, std::string_view>> sizes;
  for (const uint32_t number : plan.inputs) {
    const SlotState& s = buffers.slots[number];
    for (size_t d = 0; d < s.slot->symbols.size() && d < s.dims.size(); ++d) {
      const std::string& symbol = s.slot->symbols[d];
      if (symbol.empty()) continue;
      const auto [it, fresh] = sizes.emplace(symbol, std::pair(s.dims[d], std::string_view(s.slot->name)));
      if (!fresh && it->second.first != s.dims[d])
        return invalid_input(cat("input ", quote(s.slot->name), ": found ", symbol, " = ", s.dims[d], ", wanted ", it->second.first, " as in input ",
                                 quote(it->second.second)));
    }
  }
  return {};
}

Status Request::State::run_step(size_t k) {
  step_start = profiling ? now_ns() : 0;
  StepViews& views = buffers.steps[k];
  Status status = plan.steps[k].has_dynamic_output ? prepare_outputs(k) : Status();
  if (status.ok()) status = contexts[k]->execute(views.inputs, views.outputs);
  return finish_step(k, std::move(status));
}

Status Request::State::finish_step(size_t k, Status status) {
  if (plan.steps[k].has_dynamic_output) status = status.ok() ? take_outputs(k) : alloc_failure(k, status);
  if (!status.ok()) {
    const SubgraphInfo& info = model.subgraphs()[k];
    return status.within(cat("subgraph ", info.index, " on ", info.device));
  }
  if (profiling) record(ProfileKind::SubgraphExecute, static_cast<uint32_t>(k), step_start);
  return {};
}

// Outputs whose shape the plugin can tell beforehand get their place now; for the others it calls alloc while it executes.
Status Request::State::prepare_outputs(size_t k) {
  OPTIMA_ASSIGN(const std::vector<std::vector<int64_t>> shapes, contexts[k]->output_shapes(buffers.steps[k].inputs));
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
Status Request::State::alloc_failure(size_t k, const Status& status) const {
  for (const uint32_t number : plan.steps[k].outputs) {
    const SlotState& s = buffers.slots[number];
    if (s.alloc_error.empty()) continue;
    const std::string message = cat("output ", quote(s.slot->name), ": ", s.alloc_error);
    return s.bound ? invalid_input(message) : plugin_error(message);
  }
  return status;
}

Status Request::State::take_outputs(size_t k) {
  for (const uint32_t number : plan.steps[k].outputs) {
    SlotState& s = buffers.slots[number];
    if (s.slot->is_static) continue;
    if (!s.allocated) return plugin_error(cat("output ", quote(s.slot->name), " was left without a shape, wanted a call of alloc"));
    OPTIMA_RETURN_IF_ERROR(check_output(*s.slot, s.dims));
  }
  return {};
}

Status Request::State::store_outputs() {
  for (size_t i = 0; i < plan.outputs.size(); ++i) {
    const OutputSource& source = plan.outputs[i];
    const bool direct = source.slot != OPTIMA_NONE && !source.is_alias;
    if (direct) {
      const SlotState& s = buffers.slots[source.slot];
      if (s.stage_output) copy(s.bound, s.data, s.size, static_cast<uint32_t>(i));
    } else if (const Bound& bound = copies[i]; bound.data) {
      const std::span<const std::byte> bytes = output_bytes(i);
      if (bytes.size() > bound.capacity)
        return invalid_input(cat("output ", quote(model.outputs()[i].name), ": found a buffer of ", bound.capacity, " bytes, wanted ", bytes.size()));
      copy(bound.data, bytes.data(), bytes.size(), static_cast<uint32_t>(i));
    }
  }
  return {};
}

std::span<const std::byte> Request::State::output_bytes(size_t i) const {
  const OutputSource& source = plan.outputs[i];
  if (source.slot == OPTIMA_NONE) return {source.constant.data, source.constant.size};
  const SlotState& s = buffers.slots[source.slot];
  return {s.data, s.size};
}

Tensor Request::State::output(size_t i) const {
  const OutputSource& source = plan.outputs[i];
  const bool direct = source.slot != OPTIMA_NONE && !source.is_alias;
  const std::span<const std::byte> bytes = output_bytes(i);
  Tensor t;
  t.name = model.outputs()[i].name;
  t.dtype = model.outputs()[i].dtype;
  t.size = bytes.size();
  t.data = const_cast<std::byte*>(bytes.data());
  if (source.slot == OPTIMA_NONE) {
    t.shape = source.shape;
    t.keeper = std::const_pointer_cast<void>(source.constant.keeper);
    return t;
  }
  const SlotState& s = buffers.slots[source.slot];
  t.shape = s.dims;
  if (s.data == s.own.data()) t.keeper = s.own.keeper();
  else if (s.slot->home == Slot::Home::Input) t.keeper = s.input.keeper;
  if (direct && s.stage_output) t.data = s.bound;
  if (!direct && copies[i].data) t.data = copies[i].data;
  return t;
}

// Whatever happens, the caller gets to release the request: a pool thread has nobody to catch for it.
Status Request::State::run_all() {
  try {
    return run_once();
  } catch (const std::bad_alloc&) {
    return io_error("out of memory while running");
  } catch (const std::exception& e) {
    return internal_error(e.what());
  }
}

Status Request::State::begin() {
  run_start = profiling ? now_ns() : 0;
  has_outputs = false;
  return load_inputs();
}

Status Request::State::end() {
  OPTIMA_RETURN_IF_ERROR(store_outputs());
  has_outputs = true;
  if (profiling) record(ProfileKind::ModelExecute, 0, run_start);
  return {};
}

Status Request::State::run_once() {
  OPTIMA_RETURN_IF_ERROR(begin());
  for (size_t k = 0; k < contexts.size(); ++k) {
    if (cancel.load(std::memory_order_relaxed)) return cancelled();
    OPTIMA_RETURN_IF_ERROR(run_step(k));
  }
  return end();
}

}  // namespace optima
