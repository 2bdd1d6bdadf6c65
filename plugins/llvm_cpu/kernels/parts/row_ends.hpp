// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: kernels on rows of floats whose operand or result are codes: converted where they are read and written.
#pragma once
#include "plugins/llvm_cpu/kernels/parts/codes_tail.hpp"

namespace k {

/// What is stored at both ends, with one scale each. Numbers (float): scale and zero point of the operand's codes; scale, 1 / scale and zero
/// point of the result's.
struct RowEnds {
  Stored in, out;
};
constexpr int64_t kRowNumbers = 5;

}  // namespace k

#ifdef VW
#include "plugins/llvm_cpu/kernels/parts/quantize.hpp"

namespace k {

/// The real numbers of elements [at, at + lanes), the other lanes `fill`.
INL vec ld_row(const RowEnds& e, const float* numbers, const void* in, idx at, idx lanes, float fill) {
  if (e.in == Stored::Floats) return ld_part((const float*)in + at, lanes, fill);
  return keep((ld_stored(in, at, e.in, lanes) - numbers[1]) * numbers[0], lanes, fill);
}
INL void st_row(const RowEnds& e, const float* numbers, void* out, idx at, vec v, idx lanes) {
  if (e.out == Stored::Floats) return st_part((float*)out + at, v, lanes);
  const idx low = e.out == Stored::Signed ? -128 : 0;
  st_codes(out, at, quantize::quantized(v, splat(numbers[2]), splat(numbers[3]), splat(numbers[4]), low, low + 255), lanes);
}

}  // namespace k
#endif
