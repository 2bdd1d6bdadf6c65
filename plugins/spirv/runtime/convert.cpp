// SPDX-License-Identifier: Apache-2.0
#include "convert.hpp"

#include <algorithm>
#include <cstring>

#include "optima/plugin/manifest.hpp"
#include "plan/half.hpp"

namespace spirv_plugin {
namespace {

template <class From, class To>
void copy(const void* from, void* to, size_t count) {
  const auto* f = static_cast<const From*>(from);
  auto* t = static_cast<To*>(to);
  for (size_t k = 0; k < count; ++k) t[k] = static_cast<To>(f[k]);
}

/// A type whose values 32 bits hold: f(T{}) with the C++ type. False for others.
template <class F>
bool narrow(int32_t dtype, F&& f) {
  switch (dtype) {
    case OPTIMA_I32: f(int32_t{}); return true;
    case OPTIMA_I16: f(int16_t{}); return true;
    case OPTIMA_U16: f(uint16_t{}); return true;
    case OPTIMA_I8: f(int8_t{}); return true;
    case OPTIMA_U8: f(uint8_t{}); return true;
    default: return false;
  }
}

[[noreturn]] void no_way(int32_t dtype, Element element) {
  throw sdk::Error(OPTIMA_CORRUPT, "meta file has a port of type " + sdk::dtype_name(dtype) + " in a tensor of " + name_of(element));
}

/// A type of real numbers: f(T{}, widen, narrow) with the C++ type of its bits and what makes a float of one and one of a float. False for others.
template <class F>
bool real(int32_t dtype, F&& f) {
  switch (dtype) {
    case OPTIMA_F32: f(float{}, [](float v) { return v; }, [](float v) { return v; }); return true;
    case OPTIMA_F16: f(uint16_t{}, half_value, half_bits); return true;
    case OPTIMA_BF16: f(uint16_t{}, brain_value, brain_bits); return true;
    case OPTIMA_F64: f(double{}, [](double v) { return static_cast<float>(v); }, [](float v) { return static_cast<double>(v); }); return true;
    default: return false;
  }
}

bool lies_as_it_is(int32_t dtype, Element element) { return (dtype == OPTIMA_F32 && element == Element::F32) || (dtype == OPTIMA_F16 && element == Element::F16); }

void longs_to_device(const std::string& name, const void* from, void* to, size_t count) {
  const auto* f = static_cast<const int64_t*>(from);
  auto* t = static_cast<int32_t*>(to);
  for (size_t k = 0; k < count; ++k) {
    if (f[k] > INT32_MAX || f[k] < INT32_MIN)
      throw sdk::Error(OPTIMA_INVALID_ARGUMENT, "input '" + name + "' has " + std::to_string(f[k]) + ", wanted numbers of 32 bits: GPUs have no longer ones");
    t[k] = static_cast<int32_t>(f[k]);
  }
}

}  // namespace

void to_device(const std::string& name, int32_t dtype, const void* from, Element element, void* to, size_t count) {
  if (count == 0) return;
  if (element == Element::I32) {
    if (dtype == OPTIMA_I64) return longs_to_device(name, from, to, count);
    if (dtype == OPTIMA_BOOL) {
      for (size_t k = 0; k < count; ++k) static_cast<int32_t*>(to)[k] = static_cast<const uint8_t*>(from)[k] != 0;
      return;
    }
    if (!narrow(dtype, [&](auto type) { copy<decltype(type), int32_t>(from, to, count); })) no_way(dtype, element);
    return;
  }
  if (lies_as_it_is(dtype, element)) return void(std::memcpy(to, from, count * size_of(element)));
  const bool known = real(dtype, [&](auto type, auto widen, auto) {
    const auto* f = static_cast<const decltype(type)*>(from);
    for (size_t k = 0; k < count && element == Element::F16; ++k) {
      const float v = widen(f[k]);
      if (is_beyond_half(v)) throw sdk::Error(OPTIMA_INVALID_ARGUMENT, "input '" + name + "' has " + std::to_string(v) + ", wanted numbers up to 65504: spirv.precision is f16, and halves have no larger ones");
      static_cast<uint16_t*>(to)[k] = half_bits(v);
    }
    for (size_t k = 0; k < count && element == Element::F32; ++k) static_cast<float*>(to)[k] = widen(f[k]);
  });
  if (!known) no_way(dtype, element);
}

void require_indices(const std::string& name, const Range& range, const void* on_device, size_t count) {
  const auto* all = static_cast<const int32_t*>(on_device);
  const auto [least, most] = std::minmax_element(all, all + count);
  if (count == 0 || (*least >= range.low && *most <= range.high)) return;
  throw sdk::Error(OPTIMA_INVALID_ARGUMENT, "input '" + name + "' has index " + std::to_string(*least < range.low ? *least : *most) + ", wanted " + std::to_string(range.low) + " to " + std::to_string(range.high));
}

void longs_from_device(const std::string& name, const void* from, void* to, size_t count) {
  const auto* f = static_cast<const int32_t*>(from);
  for (size_t k = 0; k < count; ++k)
    if (f[k] == INT32_MAX || f[k] == INT32_MIN) throw sdk::Error(OPTIMA_UNSUPPORTED, "output '" + name + "' has a number that is beyond 32 bits, and kernels have no longer ones");
  copy<int32_t, int64_t>(from, to, count);
}

void from_device(const std::string& name, int32_t dtype, void* to, Element element, const void* from, size_t count) {
  if (count == 0) return;
  if (element == Element::I32) {
    if (dtype == OPTIMA_I64) return longs_from_device(name, from, to, count);
    if (dtype == OPTIMA_BOOL) {
      for (size_t k = 0; k < count; ++k) static_cast<uint8_t*>(to)[k] = static_cast<const int32_t*>(from)[k] != 0;
      return;
    }
    if (!narrow(dtype, [&](auto type) { copy<int32_t, decltype(type)>(from, to, count); })) no_way(dtype, element);
    return;
  }
  if (lies_as_it_is(dtype, element)) return void(std::memcpy(to, from, count * size_of(element)));
  const bool known = real(dtype, [&](auto type, auto, auto narrow) {
    auto* t = static_cast<decltype(type)*>(to);
    if (element == Element::F16)
      for (size_t k = 0; k < count; ++k) t[k] = narrow(half_value(static_cast<const uint16_t*>(from)[k]));
    else
      for (size_t k = 0; k < count; ++k) t[k] = narrow(static_cast<const float*>(from)[k]);
  });
  if (!known) no_way(dtype, element);
}

}  // namespace spirv_plugin
