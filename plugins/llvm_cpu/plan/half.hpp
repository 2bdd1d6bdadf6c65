// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/plan: 16-bit floats one at a time, for constants. Kernels have their own (kernels/parts/half.hpp).
#pragma once

#include <bit>
#include <cstdint>

namespace optima::llvm_cpu {

inline float from_bf16(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

/// To nearest, ties to even; NaN stays NaN.
inline uint16_t to_bf16(float v) {
  const uint32_t bits = std::bit_cast<uint32_t>(v);
  if (v != v) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

/// Exact: every half is a float. Subnormal halves are whole numbers of 2^-24.
inline float from_f16(uint16_t bits) {
  const uint32_t sign = uint32_t{bits & 0x8000u} << 16, exponent = bits >> 10 & 31, fraction = bits & 0x3FF;
  if (exponent == 0) {
    const float size = static_cast<float>(fraction) * 0x1p-24f;
    return sign ? -size : size;
  }
  return std::bit_cast<float>(sign | (exponent == 31 ? 255 : exponent + 112) << 23 | fraction << 13);
}

}  // namespace optima::llvm_cpu
