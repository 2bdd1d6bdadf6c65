// SPDX-License-Identifier: Apache-2.0
// core/runtime: what a request's user gives and gets: inputs into their slots, outputs out of theirs. With static shapes a run allocates nothing here.
#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <utility>

#include "core/runtime/request_state.hpp"
#include "core/support/log.hpp"
#include "core/support/text.hpp"
#include "core/tensor_io/element.hpp"

namespace optima {
namespace {

bool is_aligned(const void* p, uint64_t alignment) { return reinterpret_cast<uintptr_t>(p) % alignment == 0; }

bool overlap(std::span<const std::byte> a, std::span<const std::byte> b) {
  return !a.empty() && !b.empty() && std::less<>()(a.data(), b.data() + b.size()) && std::less<>()(b.data(), a.data() + a.size());
}

}  // namespace

Status Request::State::take_input(uint32_t number, Tensor tensor) {
  SlotState& s = buffers.slots[number];
  if (s.tied) {  // what the state starts from; the last run's outputs stay
    for (Tie& t : ties) t.is_fresh |= t.input == number;
    s.input = std::move(tensor);
    s.has_input = true;
    return {};
  }
  const bool staged = tensor.size < s.slot->needed || !is_aligned(tensor.data, s.slot->alignment);
  if (staged) OPTIMA_RETURN_IF_ERROR(stage(s, tensor.size));
  // An output that shows this input would show the new bytes under the old run's name, in a buffer bound for the old size.
  if (std::any_of(plan.outputs.begin(), plan.outputs.end(), [&](const OutputSource& o) { return o.slot == number; })) has_outputs = false;
  s.stage_input = s.expendable = staged;
  s.data = s.stage_input ? s.own.data() : tensor.data;
  s.size = tensor.size;
  s.dims.assign(tensor.shape.begin(), tensor.shape.end());
  s.input = std::move(tensor);
  s.has_input = true;
  s.publish();
  return {};
}

// Bytes of the request's own, which a run may hand on to an output.
Status Request::State::stage(SlotState& s, uint64_t size, uint64_t keep) {
  const uint64_t bytes = std::max(size, s.slot->needed);
  if (!s.own.reserve(bytes, s.slot->own_alignment(), keep)) return io_error(cat("no memory for ", human_bytes(bytes)));
  std::memset(s.own.data() + size, 0, bytes - size);
  s.data = s.own.data();
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
    has_dynamic |= !s.slot->is_static;
    if (s.tied) continue;
    if (!s.has_input) return invalid_input(cat("input ", quote(s.slot->name), " is not set"));
    if (!s.stage_input) continue;
    if (std::exchange(s.given_away, false)) {
      OPTIMA_RETURN_IF_ERROR(stage(s, s.input.size).within(cat("input ", quote(s.slot->name))));
      s.publish();
    }
    copy(s.own.data(), s.input.data, s.input.size, static_cast<uint32_t>(i));
  }
  OPTIMA_RETURN_IF_ERROR(load_states());
  if (has_dynamic && !told_of_symbols) tell_of_symbols();
  return {};
}

// A name that two inputs of the model give to a size is the model's word. Nothing in the host relies on it, and a plugin that does says so
// itself: what differs is worth a warning, once.
void Request::State::tell_of_symbols() {
  std::map<std::string_view, std::pair<int64_t, std::string_view>> sizes;
  for (const uint32_t number : plan.inputs) {
    const SlotState& s = buffers.slots[number];
    for (size_t d = 0; d < s.slot->symbols.size() && d < s.dims.size(); ++d) {
      const std::string& symbol = s.slot->symbols[d];
      if (symbol.empty()) continue;
      const auto [it, fresh] = sizes.emplace(symbol, std::pair(s.dims[d], std::string_view(s.slot->name)));
      if (fresh || it->second.first == s.dims[d]) continue;
      log(LogLevel::Warn, "runtime", cat("input ", quote(s.slot->name), ": found ", symbol, " = ", s.dims[d], ", but ", it->second.first, " in input ", quote(it->second.second),
                                         "; the model calls them one size, they are taken as two"));
      told_of_symbols = true;
      return;
    }
  }
}

// A run would write over what it has still to read, or over its own answer; what is bound may change in any order, so each run looks.
Status Request::State::check_bindings() const {
  for (size_t i = 0; i < plan.outputs.size(); ++i) {
    const std::span<const std::byte> bytes = bound_bytes(i);
    if (bytes.empty()) continue;
    const auto same = [&](std::string_view kind, std::string_view name) {
      return usage_error(cat("output ", quote(model.outputs()[i].name), " is bound to bytes of ", kind, " ", quote(name), ", wanted bytes of its own"));
    };
    for (const uint32_t number : plan.inputs) {
      const SlotState& s = buffers.slots[number];
      if (s.has_input && !s.tied && overlap(bytes, {s.input.data, s.input.size})) return same("input", s.slot->name);
    }
    for (size_t k = 0; k < i; ++k)
      if (overlap(bytes, bound_bytes(k))) return same("output", model.outputs()[k].name);
  }
  return {};
}

// Those that a run may write to: of an output whose size is not known yet all that there are.
std::span<const std::byte> Request::State::bound_bytes(size_t i) const {
  const OutputSource& source = plan.outputs[i];
  if (source.slot == OPTIMA_NONE) return {copies[i].data, copies[i].data ? source.constant.size : 0};
  const SlotState& s = buffers.slots[source.slot];
  const Bound bound = source.is_alias ? copies[i] : Bound{s.bound, s.bound_capacity};
  return {bound.data, !bound.data ? 0 : s.slot->is_static ? s.slot->size : bound.capacity};
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

std::span<const std::byte> Request::State::output_bytes(size_t i) const { return frame.view(plan.outputs[i]).bytes; }

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
  for (const Tie& tie : ties)
    if (s.data == buffers.slots[tie.input].own.data()) t.keeper = buffers.slots[tie.input].own.keeper();
  if (s.data == s.own.data()) t.keeper = s.own.keeper();
  else if (s.slot->home == Slot::Home::Input && !s.tied) t.keeper = s.input.keeper;
  if (direct && s.stage_output) t.data = s.bound;
  if (!direct && copies[i].data) t.data = copies[i].data;
  return t;
}

}  // namespace optima
