// SPDX-License-Identifier: Apache-2.0
#include "core/tensor_io/element.hpp"

#include <array>

#include "optima/abi.h"

namespace optima {
namespace {

constexpr std::array<std::string_view, 27> kNames = {
    "undefined", "float32", "uint8", "int8", "uint16", "int16", "int32", "int64", "string",
    "bool", "float16", "float64", "uint32", "uint64", "complex64", "complex128", "bfloat16", "float8e4m3fn",
    "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "uint4", "int4", "float4e2m1", "float8e8m0", "uint2", "int2"};
constexpr uint64_t kMostElements = uint64_t{1} << 62;

}  // namespace

std::string_view dtype_name(int32_t dtype) {
  return dtype > 0 && dtype < static_cast<int32_t>(kNames.size()) ? kNames[static_cast<size_t>(dtype)] : kNames[0];
}

std::optional<int32_t> dtype_of(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i)
    if (kNames[i] == name) return static_cast<int32_t>(i);
  return std::nullopt;
}

std::optional<uint64_t> element_count(std::span<const int64_t> shape) {
  uint64_t n = 1;
  bool empty = false;
  for (const int64_t d : shape) {
    if (d < 0) return std::nullopt;
    if (d == 0) empty = true;
    else if (__builtin_mul_overflow(n, static_cast<uint64_t>(d), &n) || n > kMostElements) return std::nullopt;
  }
  return empty ? 0 : n;
}

std::optional<uint64_t> byte_size(int32_t dtype, std::span<const int64_t> shape) {
  const uint64_t bits = optima_dtype_bits(dtype);
  const std::optional<uint64_t> n = element_count(shape);
  if (bits == 0 || !n) return std::nullopt;
  uint64_t total = 0;
  if (__builtin_mul_overflow(*n, bits, &total)) return std::nullopt;
  return total / 8 + (total % 8 != 0);
}

std::string shape_text(std::span<const int64_t> shape) {
  if (shape.empty()) return "scalar";
  std::string out;
  for (const int64_t d : shape) {
    if (!out.empty()) out += 'x';
    out += d < 0 ? "?" : std::to_string(d);
  }
  return out;
}

}  // namespace optima
