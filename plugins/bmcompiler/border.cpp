// SPDX-License-Identifier: Apache-2.0
#include "border.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "optima/plugin/manifest.hpp"

namespace bmcompiler_plugin {
namespace {

namespace sdk = optima::sdk;

bool is_float(int32_t d) { return d == OPTIMA_F32 || d == OPTIMA_F16 || d == OPTIMA_BF16 || d == OPTIMA_F64; }
bool is_whole(int32_t d) {
  return d == OPTIMA_BOOL || d == OPTIMA_I8 || d == OPTIMA_U8 || d == OPTIMA_I16 || d == OPTIMA_U16 || d == OPTIMA_I32 || d == OPTIMA_U32 || d == OPTIMA_I64;
}

template <class T>
T at(const void* data, uint64_t k) {
  T v;
  std::memcpy(&v, static_cast<const char*>(data) + k * sizeof(T), sizeof(T));
  return v;
}
template <class T>
void put(void* data, uint64_t k, T v) {
  std::memcpy(static_cast<char*>(data) + k * sizeof(T), &v, sizeof(T));
}

double from_half(uint16_t h) {
  const int exponent = h >> 10 & 31, mantissa = h & 1023;
  const double v = exponent == 31 ? (mantissa ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity())
                   : exponent     ? std::ldexp(1024 + mantissa, exponent - 25)
                                  : std::ldexp(mantissa, -24);
  return h >> 15 ? -v : v;
}

/// To the nearest, ties to even; from a float, so that no two roundings add up.
uint16_t to_half(float f) {
  const uint32_t bits = std::bit_cast<uint32_t>(f), sign = bits >> 16 & 0x8000, rest = bits & 0x7fffffff;
  if (rest > 0x7f800000) return static_cast<uint16_t>(sign | 0x7e00);
  if (rest >= 0x477ff000) return static_cast<uint16_t>(sign | 0x7c00);
  if (rest < 0x38800000) return static_cast<uint16_t>(sign | static_cast<uint32_t>(std::nearbyint(std::ldexp(std::bit_cast<float>(rest), 24))));
  const uint32_t shifted = rest - (112u << 23);
  return static_cast<uint16_t>(sign | ((shifted + 0xfff + (shifted >> 13 & 1)) >> 13));
}

uint16_t to_brain(float f) {
  const uint32_t bits = std::bit_cast<uint32_t>(f);
  if (std::isnan(f)) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

double float_at(const void* data, int32_t type, uint64_t k) {
  if (type == OPTIMA_F32) return at<float>(data, k);
  if (type == OPTIMA_F64) return at<double>(data, k);
  if (type == OPTIMA_F16) return from_half(at<uint16_t>(data, k));
  return std::bit_cast<float>(static_cast<uint32_t>(at<uint16_t>(data, k)) << 16);
}

void put_float(void* data, int32_t type, uint64_t k, double v) {
  if (type == OPTIMA_F64) return put(data, k, v);
  const auto f = static_cast<float>(v);
  if (type == OPTIMA_F32) return put(data, k, f);
  put(data, k, type == OPTIMA_F16 ? to_half(f) : to_brain(f));
}

int64_t whole_at(const void* data, int32_t type, uint64_t k) {
  switch (type) {
    case OPTIMA_BOOL: return at<uint8_t>(data, k) != 0;
    case OPTIMA_I8: return at<int8_t>(data, k);
    case OPTIMA_U8: return at<uint8_t>(data, k);
    case OPTIMA_I16: return at<int16_t>(data, k);
    case OPTIMA_U16: return at<uint16_t>(data, k);
    case OPTIMA_I32: return at<int32_t>(data, k);
    case OPTIMA_U32: return at<uint32_t>(data, k);
    default: return at<int64_t>(data, k);
  }
}

[[noreturn]] void not_held(const std::string& what, const std::string& value, int32_t type) {
  throw sdk::Error(OPTIMA_INVALID_ARGUMENT, "tensor '" + what + "' has " + value + ", which " + sdk::dtype_name(type) + ", as the device has it, does not hold");
}

template <class T>
void put_held(const std::string& what, void* data, int32_t type, uint64_t k, int64_t v) {
  if (v < static_cast<int64_t>(std::numeric_limits<T>::min()) || v > static_cast<int64_t>(std::numeric_limits<T>::max())) not_held(what, std::to_string(v), type);
  put(data, k, static_cast<T>(v));
}

void put_whole(const std::string& what, void* data, int32_t type, uint64_t k, int64_t v) {
  switch (type) {
    case OPTIMA_BOOL: return put(data, k, static_cast<uint8_t>(v != 0));
    case OPTIMA_I8: return put_held<int8_t>(what, data, type, k, v);
    case OPTIMA_U8: return put_held<uint8_t>(what, data, type, k, v);
    case OPTIMA_I16: return put_held<int16_t>(what, data, type, k, v);
    case OPTIMA_U16: return put_held<uint16_t>(what, data, type, k, v);
    case OPTIMA_I32: return put_held<int32_t>(what, data, type, k, v);
    case OPTIMA_U32: return put_held<uint32_t>(what, data, type, k, v);
    default: return put(data, k, v);
  }
}

/// Bits of a float's mantissa: whole numbers up to two to their power are exact.
int mantissa_of(int32_t type) { return type == OPTIMA_F64 ? 53 : type == OPTIMA_F32 ? 24 : type == OPTIMA_F16 ? 11 : 8; }

void convert_one(const std::string& what, const void* data, int32_t from, void* out, int32_t to, uint64_t k) {
  if (is_float(from) && is_float(to)) return put_float(out, to, k, float_at(data, from, k));
  if (is_whole(from) && is_whole(to)) return put_whole(what, out, to, k, whole_at(data, from, k));
  if (is_whole(from)) {
    const int64_t v = whole_at(data, from, k), most = int64_t{1} << mantissa_of(to);
    if (v > most || v < -most) not_held(what, std::to_string(v), to);
    return put_float(out, to, k, static_cast<double>(v));
  }
  const double v = float_at(data, from, k);
  if (to == OPTIMA_BOOL) return put(out, k, static_cast<uint8_t>(v != 0));
  if (!(std::fabs(v) < 9.2e18)) not_held(what, std::to_string(v), to);
  put_whole(what, out, to, k, std::llrint(v));
}

}  // namespace

bool converts(int32_t from, int32_t to) { return from == to || ((is_float(from) || is_whole(from)) && (is_float(to) || is_whole(to))); }

void convert(const std::string& what, const void* data, int32_t from, void* out, int32_t to, uint64_t count) {
  if (!converts(from, to)) throw sdk::Error(OPTIMA_UNSUPPORTED, "tensor '" + what + "' is " + sdk::dtype_name(from) + ", which cannot be made " + sdk::dtype_name(to));
  if (from == to) {
    if (count) std::memcpy(out, data, (count * optima_dtype_bits(from) + 7) / 8);
    return;
  }
  for (uint64_t k = 0; k < count; ++k) convert_one(what, data, from, out, to, k);
}

}  // namespace bmcompiler_plugin
