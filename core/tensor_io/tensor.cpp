// SPDX-License-Identifier: Apache-2.0
#include "core/tensor_io/tensor.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <new>

#include "core/support/text.hpp"
#include "core/tensor_io/element.hpp"

namespace optima {
namespace {

template <class T>
T load(const std::byte* data, uint64_t i) {
  T value;
  std::memcpy(&value, data + i * sizeof(T), sizeof(T));
  return value;
}

// IEEE-like small floats: sign, exponent and mantissa bits, bias; `nan_all_ones`: only the all-ones code is NaN and there is no
// infinity (E4M3FN); `unsigned_zero`: the code of -0 is NaN (FNUZ types).
struct SmallFloat {
  int exponent_bits, mantissa_bits, bias;
  bool has_infinity, unsigned_zero;
};

double decode(uint32_t code, const SmallFloat& f) {
  const uint32_t mantissa_mask = (1u << f.mantissa_bits) - 1, exponent_mask = (1u << f.exponent_bits) - 1;
  const uint32_t mantissa = code & mantissa_mask, exponent = (code >> f.mantissa_bits) & exponent_mask;
  const bool negative = (code >> (f.mantissa_bits + f.exponent_bits)) & 1;
  double value;
  if (f.unsigned_zero && negative && exponent == 0 && mantissa == 0) return NAN;
  if (f.has_infinity && exponent == exponent_mask) value = mantissa ? NAN : INFINITY;
  else if (!f.has_infinity && !f.unsigned_zero && f.exponent_bits == 4 && exponent == exponent_mask && mantissa == mantissa_mask) value = NAN;
  else if (exponent == 0) value = std::ldexp(mantissa, 1 - f.bias - f.mantissa_bits);
  else value = std::ldexp(mantissa | (1u << f.mantissa_bits), static_cast<int>(exponent) - f.bias - f.mantissa_bits);
  return negative ? -value : value;
}

uint32_t packed(const std::byte* data, uint64_t i, uint32_t bits) {
  const uint64_t at = i * bits;
  return (static_cast<uint32_t>(data[at / 8]) >> (at % 8)) & ((1u << bits) - 1);
}

int32_t sign_extend(uint32_t code, uint32_t bits) {
  const int32_t half = 1 << (bits - 1);
  return (static_cast<int32_t>(code) ^ half) - half;
}

}  // namespace

Result<Tensor> Tensor::make(int32_t dtype, std::vector<int64_t> shape) {
  const std::optional<uint64_t> size = byte_size(dtype, shape);
  if (!size) return invalid_input(cat("a ", dtype_name(dtype), " tensor of shape ", shape_text(shape), " has no size"));
  constexpr std::align_val_t kAlign{64};
  void* memory = ::operator new(*size ? *size : 1, kAlign, std::nothrow);
  if (!memory) return io_error(cat("no memory for a tensor of ", human_bytes(*size)));
  Tensor t;
  t.dtype = dtype;
  t.shape = std::move(shape);
  t.size = *size;
  t.keeper = std::shared_ptr<void>(memory, [](void* p) { ::operator delete(p, kAlign); });
  t.data = static_cast<std::byte*>(memory);
  std::memset(memory, 0, *size);
  return t;
}

Result<Tensor> Tensor::borrow(int32_t dtype, std::vector<int64_t> shape, void* data, uint64_t size) {
  const std::optional<uint64_t> wanted = byte_size(dtype, shape);
  if (!wanted) return invalid_input(cat("a ", dtype_name(dtype), " tensor of shape ", shape_text(shape), " has no size"));
  if (*wanted != size)
    return invalid_input(cat("a ", dtype_name(dtype), " tensor of shape ", shape_text(shape), " has ", *wanted, " bytes, found ", size));
  Tensor t;
  t.dtype = dtype;
  t.shape = std::move(shape);
  t.data = static_cast<std::byte*>(data);
  t.size = size;
  return t;
}

double element_as_double(const Tensor& t, uint64_t i) {
  const std::byte* d = t.data;
  switch (t.dtype) {
    case OPTIMA_F32: return load<float>(d, i);
    case OPTIMA_F64: return load<double>(d, i);
    case OPTIMA_U8: return load<uint8_t>(d, i);
    case OPTIMA_I8: return load<int8_t>(d, i);
    case OPTIMA_U16: return load<uint16_t>(d, i);
    case OPTIMA_I16: return load<int16_t>(d, i);
    case OPTIMA_I32: return load<int32_t>(d, i);
    case OPTIMA_U32: return load<uint32_t>(d, i);
    case OPTIMA_I64: return static_cast<double>(load<int64_t>(d, i));
    case OPTIMA_U64: return static_cast<double>(load<uint64_t>(d, i));
    case OPTIMA_BOOL: return load<uint8_t>(d, i) != 0;
    case OPTIMA_C64: return load<float>(d, 2 * i);
    case OPTIMA_C128: return load<double>(d, 2 * i);
    case OPTIMA_F16: return decode(load<uint16_t>(d, i), {5, 10, 15, true, false});
    case OPTIMA_BF16: return std::bit_cast<float>(static_cast<uint32_t>(load<uint16_t>(d, i)) << 16);
    case OPTIMA_F8E4M3FN: return decode(load<uint8_t>(d, i), {4, 3, 7, false, false});
    case OPTIMA_F8E4M3FNUZ: return decode(load<uint8_t>(d, i), {4, 3, 8, false, true});
    case OPTIMA_F8E5M2: return decode(load<uint8_t>(d, i), {5, 2, 15, true, false});
    case OPTIMA_F8E5M2FNUZ: return decode(load<uint8_t>(d, i), {5, 2, 16, false, true});
    case OPTIMA_F8E8M0: return load<uint8_t>(d, i) == 255 ? NAN : std::ldexp(1.0, load<uint8_t>(d, i) - 127);
    case OPTIMA_F4E2M1: return decode(packed(d, i, 4), {2, 1, 1, false, false});
    case OPTIMA_U4: return packed(d, i, 4);
    case OPTIMA_I4: return sign_extend(packed(d, i, 4), 4);
    case OPTIMA_U2: return packed(d, i, 2);
    case OPTIMA_I2: return sign_extend(packed(d, i, 2), 2);
    default: return NAN;
  }
}

}  // namespace optima
