// SPDX-License-Identifier: Apache-2.0
// core/tensor_io: 16-bit floats by their bits. Inline, because whole tensors go through.
#pragma once

#include <bit>
#include <cstdint>

namespace optima {

inline float float_of_bfloat(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

/// The factor moves the exponent's bias from 15 to 127, denormals included; infinities and NaN get the largest exponent.
inline float float_of_half(uint16_t half) {
  const auto moved = static_cast<uint32_t>(half & 0x7FFF) << 13;
  uint32_t bits = std::bit_cast<uint32_t>(std::bit_cast<float>(moved) * 0x1p112f);
  if ((half & 0x7C00) == 0x7C00) bits |= 0x7F800000;
  return std::bit_cast<float>(bits | static_cast<uint32_t>(half & 0x8000) << 16);
}

/// To nearest, ties to even; NaN stays NaN.
inline uint16_t bfloat_of(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7FFFFFFF) > 0x7F800000) return static_cast<uint16_t>((bits >> 16) | 0x40);
  return static_cast<uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

/// To nearest, ties to even; from 65520 on an infinity; NaN stays NaN.
inline uint16_t half_of(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value), sign = (bits >> 16) & 0x8000, size = bits & 0x7FFFFFFF;
  if (size > 0x7F800000) return static_cast<uint16_t>(sign | 0x7E00);
  if (size >= 0x477FF000) return static_cast<uint16_t>(sign | 0x7C00);
  if (size < 0x38800000)  // below 2^-14: added to 1/2, whose last bit is the smallest half, the processor rounds it
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(std::bit_cast<float>(size) + 0.5f) - 0x3F000000));
  return static_cast<uint16_t>(sign | ((size + 0xFFF + ((size >> 13) & 1) - 0x38000000) >> 13));
}

}  // namespace optima
