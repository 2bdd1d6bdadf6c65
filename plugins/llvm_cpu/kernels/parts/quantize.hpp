// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: a vector of floats as codes, and codes as floats, as QuantizeLinear and DequantizeLinear round them.
#pragma once
#include "plugins/llvm_cpu/kernels/parts/math.hpp"

namespace k::quantize {

typedef uint8_t codes __attribute__((vector_size(VW)));
typedef int8_t signed_codes __attribute__((vector_size(VW)));

// The quotient as a division rounds it: by the inverse, and once more by what that left. NaN becomes `low`.
INL ivec quantized(vec x, vec scale, vec inverse, vec zero, idx low, idx high) {
  const vec most = splat(16777216.f), q = vmin(most, vmax(-most, x * inverse));
  const vec left = __builtin_elementwise_fma(q, -scale, x), ratio = __builtin_elementwise_fma(left, inverse, q);
  const vec code = vmin(splat((float)high), vmax(splat((float)low), __builtin_elementwise_rint(ratio) + zero));
  return __builtin_convertvector(code == code ? code : splat((float)low), ivec);
}
INL codes narrowed(ivec v) { return __builtin_convertvector(v, codes); }
INL vec real(codes v, bool with_sign, vec scale, vec zero) {
  const vec x = with_sign ? __builtin_convertvector((signed_codes)v, vec) : __builtin_convertvector(v, vec);
  return (x - zero) * scale;
}

}  // namespace k::quantize
