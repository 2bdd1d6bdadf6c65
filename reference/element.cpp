// SPDX-License-Identifier: Apache-2.0
// reference/tensor: element formats. One number is rounded once, half to even, whatever the type.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "reference/tensor.hpp"

namespace optima::reference {
namespace {

/// A binary float of at most 16 bits: 1 sign, `exponent` and `mantissa` bits (IEEE 754 and the ONNX float8/float4 tables).
struct Format {
  int exponent, mantissa, bias;
  enum class Top { Ieee, NanOnly, UnsignedZero, Finite } top;  // what the highest codes mean
};

Format format_of(int32_t dtype) {
  switch (dtype) {
    case OPTIMA_F16: return {5, 10, 15, Format::Top::Ieee};
    case OPTIMA_BF16: return {8, 7, 127, Format::Top::Ieee};
    case OPTIMA_F8E4M3FN: return {4, 3, 7, Format::Top::NanOnly};
    case OPTIMA_F8E5M2: return {5, 2, 15, Format::Top::Ieee};
    case OPTIMA_F8E4M3FNUZ: return {4, 3, 8, Format::Top::UnsignedZero};
    case OPTIMA_F8E5M2FNUZ: return {5, 2, 16, Format::Top::UnsignedZero};
    case OPTIMA_F4E2M1: return {2, 1, 1, Format::Top::Finite};
    default: unsupported("element type " + dtype_name(dtype) + " is not a narrow float");
  }
}

uint32_t largest_code(const Format& f) {  // of the finite numbers, without sign
  const uint32_t all = (1u << (f.exponent + f.mantissa)) - 1;
  if (f.top == Format::Top::Ieee) return all - (1u << f.mantissa);
  return f.top == Format::Top::NanOnly ? all - 1 : all;
}

double magnitude(const Format& f, uint32_t code) {
  const auto exponent = static_cast<int>(code >> f.mantissa);
  const double m = code & ((1u << f.mantissa) - 1);
  if (exponent == 0) return std::ldexp(m, 1 - f.bias - f.mantissa);
  return std::ldexp(m + std::ldexp(1.0, f.mantissa), exponent - f.bias - f.mantissa);
}

uint32_t not_a_number(const Format& f) {
  const uint32_t sign = 1u << (f.exponent + f.mantissa);
  if (f.top == Format::Top::UnsignedZero) return sign;
  if (f.top == Format::Top::NanOnly) return sign - 1;
  if (f.top == Format::Top::Ieee) return (largest_code(f) + 1) | 1u << (f.mantissa - 1);
  return sign;  // no NaN in the type: negative zero, as in the ONNX node tests of float4
}

uint32_t overflow(const Format& f, bool saturate) {
  if (f.top == Format::Top::Finite || (saturate && f.top != Format::Top::Ieee)) return largest_code(f);
  if (f.top != Format::Top::Ieee) return not_a_number(f);
  return saturate && f.exponent + f.mantissa < 8 ? largest_code(f) : largest_code(f) + 1;
}

double decode_e8m0(uint32_t bits) { return bits == 255 ? std::nan("") : std::ldexp(1.0, static_cast<int>(bits) - 127); }
uint32_t encode_e8m0(double x) {  // powers of two, rounded up, as ONNX's Cast does by default
  if (std::isnan(x)) return 255;
  if (!(std::fabs(x) > 0)) return 0;
  if (std::isinf(x)) return 254;
  int e = 0;
  const double m = std::frexp(std::fabs(x), &e);
  e = m == 0.5 ? e - 1 : e;
  return static_cast<uint32_t>(e < -127 ? 0 : e > 127 ? 254 : e + 127);
}

/// A double as a 64-bit integer without undefined behaviour.
template <class I>
I to_integer(double x) {
  if (std::isnan(x)) return 0;
  constexpr double top = sizeof(I) == 8 && std::is_unsigned_v<I> ? 18446744073709551616.0 : 9223372036854775808.0;
  if (x >= top) return std::numeric_limits<I>::max();
  if (x < 0 && std::is_unsigned_v<I>) return static_cast<I>(x <= -9223372036854775808.0 ? 0 : static_cast<int64_t>(x));
  return x <= -top ? std::numeric_limits<I>::min() : static_cast<I>(x);
}

template <class To, class From>
To convert(From x) {
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if constexpr (std::is_unsigned_v<To>) return static_cast<To>(to_integer<uint64_t>(x));
    else return static_cast<To>(to_integer<int64_t>(x));
  } else {
    return static_cast<To>(x);
  }
}

template <class W, class T>
void load_plain(const Tensor& t, std::vector<W>& out) {
  const auto* from = static_cast<const T*>(t.data);
  for (size_t i = 0; i < out.size(); ++i) out[i] = convert<W>(from[i]);
}
template <class W, class T>
void store_plain(const std::vector<W>& from, void* to) {
  for (size_t i = 0; i < from.size(); ++i) static_cast<T*>(to)[i] = convert<T>(from[i]);
}

int64_t sign_extend(uint32_t bits, uint32_t width) {
  return static_cast<int64_t>(bits ^ 1u << (width - 1)) - (int64_t{1} << (width - 1));
}

/// Types of fewer than 8 bits, and floats of 16 or fewer.
template <class W>
void load_narrow(const Tensor& t, std::vector<W>& out) {
  const uint32_t bits = optima_dtype_bits(t.dtype);
  const std::vector<uint8_t> packed = bits < 8 ? unpack(t) : std::vector<uint8_t>();
  for (size_t i = 0; i < out.size(); ++i) {
    uint16_t code = 0;
    if (bits < 8) code = packed[i];
    else if (bits == 8) code = static_cast<const uint8_t*>(t.data)[i];
    else code = static_cast<const uint16_t*>(t.data)[i];
    if (t.dtype == OPTIMA_U4 || t.dtype == OPTIMA_U2) out[i] = static_cast<W>(code);
    else if (t.dtype == OPTIMA_I4 || t.dtype == OPTIMA_I2) out[i] = static_cast<W>(sign_extend(code, bits));
    else out[i] = convert<W>(decode(t.dtype, code));
  }
}
template <class W>
Tensor store_narrow(int32_t dtype, Dims dims, const std::vector<W>& from, bool saturate) {
  const uint32_t bits = optima_dtype_bits(dtype);
  const bool whole = dtype == OPTIMA_U4 || dtype == OPTIMA_I4 || dtype == OPTIMA_U2 || dtype == OPTIMA_I2;
  const auto code = [&](W x) { return whole ? convert<uint32_t>(x) : encode(dtype, static_cast<double>(x), saturate); };
  if (bits < 8) {
    std::vector<uint8_t> codes;
    for (W x : from) codes.push_back(static_cast<uint8_t>(code(x)));
    return pack(dtype, std::move(dims), codes);
  }
  void* to = nullptr;
  Tensor out = Tensor::make(dtype, std::move(dims), &to);
  for (size_t i = 0; i < from.size(); ++i) {
    if (bits == 8) static_cast<uint8_t*>(to)[i] = static_cast<uint8_t>(code(from[i]));
    else static_cast<uint16_t*>(to)[i] = static_cast<uint16_t>(code(from[i]));
  }
  return out;
}

}  // namespace

bool is_float(int32_t d) { return d == OPTIMA_F32 || d == OPTIMA_F64 || d == OPTIMA_F16 || d == OPTIMA_BF16; }
bool is_minifloat(int32_t d) { return (d >= OPTIMA_F8E4M3FN && d <= OPTIMA_F8E5M2FNUZ) || d == OPTIMA_F4E2M1 || d == OPTIMA_F8E8M0; }
bool is_signed(int32_t d) { return d == OPTIMA_I8 || d == OPTIMA_I16 || d == OPTIMA_I32 || d == OPTIMA_I64 || d == OPTIMA_I4 || d == OPTIMA_I2; }
bool is_unsigned(int32_t d) { return d == OPTIMA_U8 || d == OPTIMA_U16 || d == OPTIMA_U32 || d == OPTIMA_U64 || d == OPTIMA_U4 || d == OPTIMA_U2; }

double decode(int32_t dtype, uint32_t bits) {
  if (dtype == OPTIMA_F8E8M0) return decode_e8m0(bits);
  const Format f = format_of(dtype);
  const uint32_t sign = 1u << (f.exponent + f.mantissa), code = bits & (sign - 1);
  if (f.top == Format::Top::UnsignedZero && bits == sign) return std::nan("");
  double x = 0;
  if (code <= largest_code(f)) x = magnitude(f, code);
  else if (f.top == Format::Top::Ieee && code == largest_code(f) + 1) x = std::numeric_limits<double>::infinity();
  else x = std::nan("");
  return bits & sign ? -x : x;
}

uint32_t encode(int32_t dtype, double x, bool saturate) {
  if (dtype == OPTIMA_F8E8M0) return encode_e8m0(x);
  const Format f = format_of(dtype);
  const uint32_t sign = std::signbit(x) ? 1u << (f.exponent + f.mantissa) : 0;
  if (std::isnan(x)) return f.top == Format::Top::Ieee || f.top == Format::Top::NanOnly ? not_a_number(f) | sign : not_a_number(f);
  const double a = std::fabs(x);
  int e = 0;
  std::frexp(a, &e);
  const int step = std::max(e - 1, 1 - f.bias) - f.mantissa;  // of the numbers around a
  const double rounded = std::isinf(a) ? a : std::ldexp(std::nearbyint(std::ldexp(a, -step)), step);
  if (rounded > magnitude(f, largest_code(f))) return overflow(f, saturate) | (f.top == Format::Top::UnsignedZero && !saturate ? 0 : sign);
  if (rounded == 0) return f.top == Format::Top::UnsignedZero ? 0 : sign;
  std::frexp(rounded, &e);
  const int exponent = std::max(e - 1, 1 - f.bias);
  const auto units = static_cast<uint32_t>(std::ldexp(rounded, f.mantissa - exponent));
  // A normal number carries its leading one into the exponent field by the addition.
  return sign | ((static_cast<uint32_t>(exponent + f.bias - 1) << f.mantissa) + units);
}

double round_to(int32_t dtype, double x) {
  if (dtype == OPTIMA_F32) return static_cast<float>(x);
  if (dtype == OPTIMA_F16 || dtype == OPTIMA_BF16) return decode(dtype, encode(dtype, x, false));
  return x;
}

template <class W>
std::vector<W> load(const Tensor& t) {
  std::vector<W> out(static_cast<size_t>(t.elements()));
  switch (t.dtype) {
    case OPTIMA_F32: load_plain<W, float>(t, out); break;
    case OPTIMA_F64: load_plain<W, double>(t, out); break;
    case OPTIMA_U8:
    case OPTIMA_BOOL: load_plain<W, uint8_t>(t, out); break;
    case OPTIMA_I8: load_plain<W, int8_t>(t, out); break;
    case OPTIMA_U16: load_plain<W, uint16_t>(t, out); break;
    case OPTIMA_I16: load_plain<W, int16_t>(t, out); break;
    case OPTIMA_U32: load_plain<W, uint32_t>(t, out); break;
    case OPTIMA_I32: load_plain<W, int32_t>(t, out); break;
    case OPTIMA_U64: load_plain<W, uint64_t>(t, out); break;
    case OPTIMA_I64: load_plain<W, int64_t>(t, out); break;
    default:
      if (t.dtype == OPTIMA_STRING || t.dtype == OPTIMA_C64 || t.dtype == OPTIMA_C128 || optima_dtype_bits(t.dtype) == 0)
        unsupported("element type " + dtype_name(t.dtype) + " has no arithmetic");
      load_narrow<W>(t, out);
  }
  return out;
}

template <class W>
Tensor store(int32_t dtype, Dims dims, const std::vector<W>& from, bool saturate) {
  if (count(dims) != static_cast<int64_t>(from.size())) invalid("a result of shape " + show(dims) + " got " + std::to_string(from.size()) + " elements");
  if (is_minifloat(dtype) || dtype == OPTIMA_F16 || dtype == OPTIMA_BF16 || optima_dtype_bits(dtype) < 8)
    return store_narrow<W>(dtype, std::move(dims), from, saturate);
  void* to = nullptr;
  Tensor out = Tensor::make(dtype, std::move(dims), &to);
  switch (dtype) {
    case OPTIMA_F32: store_plain<W, float>(from, to); break;
    case OPTIMA_F64: store_plain<W, double>(from, to); break;
    case OPTIMA_U8: store_plain<W, uint8_t>(from, to); break;
    case OPTIMA_I8: store_plain<W, int8_t>(from, to); break;
    case OPTIMA_U16: store_plain<W, uint16_t>(from, to); break;
    case OPTIMA_I16: store_plain<W, int16_t>(from, to); break;
    case OPTIMA_U32: store_plain<W, uint32_t>(from, to); break;
    case OPTIMA_I32: store_plain<W, int32_t>(from, to); break;
    case OPTIMA_U64: store_plain<W, uint64_t>(from, to); break;
    case OPTIMA_I64: store_plain<W, int64_t>(from, to); break;
    case OPTIMA_BOOL:
      for (size_t i = 0; i < from.size(); ++i) static_cast<uint8_t*>(to)[i] = from[i] != 0;
      break;
    default: unsupported("element type " + dtype_name(dtype) + " has no arithmetic");
  }
  return out;
}

template <class W>
std::vector<W> load_as(const Tensor& t, const Dims& to) {
  std::vector<W> own = load<W>(t);
  if (t.dims == to) return own;
  const std::vector<int64_t> index = broadcast_index(t.dims, to);
  std::vector<W> out(index.size());
  for (size_t i = 0; i < out.size(); ++i) out[i] = own[static_cast<size_t>(index[i])];
  return out;
}

#define OPTIMA_WIDE(W)                                                             \
  template std::vector<W> load<W>(const Tensor&);                                  \
  template std::vector<W> load_as<W>(const Tensor&, const Dims&);                  \
  template Tensor store<W>(int32_t, Dims, const std::vector<W>&, bool);
OPTIMA_WIDE(double)
OPTIMA_WIDE(int64_t)
OPTIMA_WIDE(uint64_t)

}  // namespace optima::reference
