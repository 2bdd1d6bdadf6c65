// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: parts of vectors, sums over lanes, and element types that a template gets as a number.
#pragma once
#include "optima/abi.h"
#include "plugins/llvm_cpu/kernels/parts/transpose.hpp"
#include "plugins/llvm_cpu/kernels/parts/vec.hpp"

#define METHOD __attribute__((always_inline)) inline

namespace k {

#if GENERAL
// How many lanes there are is a number of the run: masks, or lane by lane where there are none.
INL ivec lane_numbers() {
  ivec v;
  UNROLL for (int l = 0; l < VL; l++) v[l] = l;
  return v;
}
#if VW == 16
INL uint16_t mask_of(idx n) { return (uint16_t)((1u << imax(0, imin(n, VL))) - 1); }
INL vec ld_some(const float* p, idx n, float fill) { return __builtin_ia32_loadups512_mask(p, splat(fill), mask_of(n)); }
INL void st_some(float* p, vec v, idx n) { __builtin_ia32_storeups512_mask(p, v, mask_of(n)); }
#elif VW == 8
INL ivec mask_of(idx n) { return lane_numbers() < (int32_t)n; }
INL vec ld_some(const float* p, idx n, float fill) { return mask_of(n) ? __builtin_ia32_maskloadps256((const vec*)p, mask_of(n)) : splat(fill); }
INL void st_some(float* p, vec v, idx n) { __builtin_ia32_maskstoreps256((vec*)p, mask_of(n), v); }
#else
INL vec ld_some(const float* p, idx n, float fill) {
  vec v = splat(fill);
  UNROLL for (idx l = 0; l < VL; l++) if (l < n) v[l] = p[l];
  return v;
}
INL void st_some(float* p, vec v, idx n) { UNROLL for (idx l = 0; l < VL; l++) if (l < n) p[l] = v[l]; }
#endif
#endif

/// The first n lanes from memory, the others `fill`. Reads nothing past them.
INL vec ld_part(const float* p, idx n, float fill) {
  if (n >= VL) return ld(p);
#if GENERAL
  return ld_some(p, n, fill);
#endif
  vec v = splat(fill);
  UNROLL for (idx l = 0; l < VL; l++) if (l < n) v[l] = p[l];
  return v;
}
INL void st_part(float* p, vec v, idx n) {
  if (n >= VL) return st(p, v);
#if GENERAL
  return st_some(p, v, n);
#endif
  UNROLL for (idx l = 0; l < VL; l++) if (l < n) p[l] = v[l];
}
/// Keeps the first n lanes, the others become `fill`.
INL vec keep(vec v, idx n, float fill) {
#if GENERAL
  return lane_numbers() < (int32_t)n ? v : splat(fill);
#endif
  UNROLL for (idx l = 0; l < VL; l++) if (l >= n) v[l] = fill;
  return v;
}
#if VW >= 8
/// Lane l of the result is lane at[l].
INL vec picked(vec v, ivec at) {
#if VW == 16
  return __builtin_ia32_permvarsf512(v, at);
#else
  return __builtin_ia32_permvarsf256(v, at);
#endif
}
#endif

template <idx STEP, idx... I>
INL vec rotated(vec v, square::List<idx, I...>) { return __builtin_shufflevector(v, v, (I + STEP) % VL...); }
/// Lanes joined pairwise, in a fixed order: the second half with the first, and so on. join: of vectors.
template <idx STEP = VL / 2, class F>
INL float across(vec v, F join) {
  v = join(v, rotated<STEP>(v, __make_integer_seq<square::List, idx, VL>()));
  if constexpr (STEP > 1) return across<STEP / 2>(v, join);
  else return v[0];
}
/// The same order by halves of vectors.
template <int L>
using Lanes = float __attribute__((vector_size(L * sizeof(float))));
template <int L>
INL float sum_of(Lanes<L> v) {
  if constexpr (L == 2) return v[0] + v[1];
  else {
    Lanes<L / 2> half[2];
    __builtin_memcpy(half, &v, sizeof v);
    return sum_of<L / 2>(half[0] + half[1]);
  }
}
INL float lane_sum(vec v) { return sum_of<VL>(v); }
/// The larger one; NaN when either is NaN.
INL vec nan_max(vec a, vec b) { return a != a ? a : vmax(a, b); }
INL vec nan_min(vec a, vec b) { return a != a ? a : vmin(a, b); }
INL float lane_max(vec v) {
  return across(v, [](vec a, vec b) __attribute__((always_inline)) { return nan_max(a, b); });
}

/// The order of reductions and sorts among elements: NaN is larger than every number.
template <class T>
METHOD bool larger(T a, T b) { return a > b || (a != a && b == b); }

/// Calls body(T*) with the C++ type of an element type as optima/abi.h numbers it.
template <class F>
INL void with_type(int64_t dtype, F body) {
  if (dtype == OPTIMA_F32) body((float*)nullptr);
  else if (dtype == OPTIMA_F64) body((double*)nullptr);
  else if (dtype == OPTIMA_I32) body((int32_t*)nullptr);
  else if (dtype == OPTIMA_I64) body((int64_t*)nullptr);
  else if (dtype == OPTIMA_I8) body((int8_t*)nullptr);
  else body((uint8_t*)nullptr);
}
/// Calls body(T*) with an unsigned type of that many bytes: for kernels that only move elements.
template <class F>
INL void with_size(int64_t bytes, F body) {
  if (bytes == 1) body((uint8_t*)nullptr);
  else if (bytes == 2) body((uint16_t*)nullptr);
  else if (bytes == 4) body((uint32_t*)nullptr);
  else body((uint64_t*)nullptr);
}
/// Leaves word of an index outside of its dim in the header before scratch (compiler/op.hpp): the run ends with an error.
INL void tell_outside(idx i, idx size, char* scratch) { ((int64_t*)scratch)[-6] = 1, ((int64_t*)scratch)[-5] = i, ((int64_t*)scratch)[-4] = size; }
/// An index as ONNX means it: negative ones count from the end. One out of range goes to the nearest end, never outside, and is told.
INL idx wrapped(idx i, idx size, char* scratch) {
  const idx from_start = i < 0 ? i + size : i;
  if (__builtin_expect(from_start >= 0 && from_start < size, 1)) return from_start;
  tell_outside(i, size, scratch);
  return imax(0, imin(from_start, size - 1));
}
INL idx index_at(const void* p, int64_t bytes, idx i) { return bytes == 8 ? ((const int64_t*)p)[i] : ((const int32_t*)p)[i]; }

}  // namespace k
