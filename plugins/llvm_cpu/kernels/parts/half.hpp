// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: 16-bit floats in memory, f32 in registers.
#pragma once
#include "plugins/llvm_cpu/kernels/parts/vec.hpp"

namespace k {

typedef uint16_t words __attribute__((vector_size(VW * 2)));
typedef uint16_t wordsu __attribute__((vector_size(VW * 2), aligned(2), may_alias));
typedef _Float16 halves __attribute__((vector_size(VW * 2)));
typedef uint32_t uvec __attribute__((vector_size(VW * 4)));

INL words ld_words(const uint16_t* p) { return *(const wordsu*)p; }
INL void st_words(uint16_t* p, words v) { *(wordsu*)p = v; }

INL vec widened(words v, bool bf16) {
  if (bf16) return (vec)(__builtin_convertvector(v, uvec) << 16);
  return __builtin_convertvector((halves)v, vec);
}
/// To nearest, ties to even; NaN stays NaN.
INL words to_bf16(vec v) {
  const uvec bits = (uvec)v;
  const uvec rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16, quiet = bits >> 16 | 0x40;
  return __builtin_convertvector(v != v ? quiet : rounded, words);
}
INL words narrowed(vec v, bool bf16) {
  if (bf16) return to_bf16(v);
  return (words)__builtin_convertvector(v, halves);
}

}  // namespace k
