// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: ArgMax, ArgMin, TopK and CumSum along one axis of [outer][len][inner].
#pragma once
#include "plugins/llvm_cpu/kernels/parts/literals.hpp"

namespace k {

constexpr int64_t kArgPiece = 64;  ///< neighbours of a unit
struct Arg {
  static constexpr char entry[] = "k_arg";
  static constexpr void sizes(auto& l, auto mark) { mark(l.len, l.inner); }
  int64_t dtype, smallest, last, len, inner;
};
struct Top {
  static constexpr char entry[] = "k_top";
  static constexpr void sizes(auto& l, auto mark) { mark(l.count, l.len, l.inner); }
  int64_t dtype, smallest, count, len, inner;
};
struct CumSum {
  static constexpr char entry[] = "k_cumsum";
  static constexpr void sizes(auto& l, auto mark) { mark(l.len, l.inner); }
  int64_t dtype, exclusive, reverse, len, inner;
};

}  // namespace k

#ifdef VW  // the template, which only clang compiles
#include "plugins/llvm_cpu/kernels/parts/lanes.hpp"
#include "plugins/llvm_cpu/kernels/parts/math.hpp"

namespace k::scan {

// Of one row of floats: its largest (smallest) element, then the first (last) one that is equal to it; NaN is larger than every number.
INL idx place_in_row(const Arg& l, const float* x) {
  const float worst = l.smallest ? kInf : -kInf;
  const auto join = [&](vec a, vec v) __attribute__((always_inline)) { return l.smallest ? vmin(v, a) : nan_max(a, v); };  // vmin gives `a` where v is NaN
  const idx fours = l.len / (4 * VL) * (4 * VL), full = l.len / VL * VL;
  vec a[4];
  UNROLL for (idx q = 0; q < 4; q++) a[q] = splat(worst);
  idx i = 0;
  ROLL for (; i < fours; i += 4 * VL) UNROLL for (idx q = 0; q < 4; q++) a[q] = join(a[q], ld(x + i + q * VL));
  ROLL for (; i < full; i += VL) a[0] = join(a[0], ld(x + i));
  if (i < l.len) a[1] = join(a[1], ld_part(x + i, l.len - i, worst));
  const vec all = join(join(a[0], a[1]), join(a[2], a[3]));
  const float best = l.smallest ? across(all, [](vec p, vec q) __attribute__((always_inline)) { return p < q ? p : q; }) : lane_max(all);
  const auto is_best = [&](float v) __attribute__((always_inline)) { return v == best || (v != v && best != best); };
  const auto somewhere = [&](idx at) __attribute__((always_inline)) {
    const vec v = ld(x + at);
    return __builtin_reduce_or((v == splat(best)) | (best != best ? v != v : ivec{})) != 0;
  };
  if (l.last) {
    i = l.len;
    ROLL while (i >= VL && !somewhere(i - VL)) i -= VL;
    ROLL while (i > 0 && !is_best(x[i - 1])) i--;
    return i > 0 ? i - 1 : l.len - 1;  // of nothing but NaN none is the smallest
  }
  i = 0;
  ROLL while (i + VL <= l.len && !somewhere(i)) i += VL;
  ROLL while (i < l.len && !is_best(x[i])) i++;
  return i < l.len ? i : 0;
}

// Whether v, which stands further on, takes the place of `best`.
template <class T>
INL bool takes_place(const Arg& l, T best, T v) {
  const bool better = l.smallest ? larger(best, v) : larger(v, best), worse = l.smallest ? larger(v, best) : larger(best, v);
  return better | (l.last && !worse);
}

template <class T>
INL idx place(const Arg& l, const T* x) {
  T best = *x;
  idx at = 0;
  ROLL for (idx i = 1; i < l.len; i++) {
    if (takes_place(l, best, x[i])) best = x[i], at = i;
  }
  return at;
}

// `n` neighbours, all of them in one walk along the axis.
template <class T>
INL void places(const Arg& l, const T* x, idx n, int64_t* out) {
  T best[kArgPiece];
  int64_t at[kArgPiece];
  for (idx j = 0; j < n; j++) best[j] = x[j], at[j] = 0;
  ROLL for (idx i = 1; i < l.len; i++) for (idx j = 0; j < n; j++) {
    const T v = x[i * l.inner + j];
    const bool take = takes_place(l, best[j], v);
    best[j] = take ? v : best[j], at[j] = take ? i : at[j];
  }
  for (idx j = 0; j < n; j++) out[j] = at[j];
}

}  // namespace k::scan

// Index of the largest (smallest) element, NaN being the largest; of equal ones the first, or the last when `last`. args: in, out (int64); units:
// outer * ceil(inner / kArgPiece).
TEMPLATE(k_arg, Arg, l) {
  using namespace k;
  const idx pieces = cdiv(l.inner, kArgPiece);
  with_type(l.dtype, [&]<class T>(T*) __attribute__((always_inline)) {
    ROLL for (idx u = u0; u < u1; u++) {
      const idx j = u % pieces * kArgPiece;
      const T* x = (const T*)args[0] + u / pieces * l.len * l.inner + j;
      int64_t* out = (int64_t*)args[1] + u / pieces * l.inner + j;
      if (l.inner == 1) *out = l.dtype == OPTIMA_F32 && l.len >= VL ? scan::place_in_row(l, (const float*)x) : scan::place(l, x);
      else scan::places(l, x, imin(kArgPiece, l.inner - j), out);
    }
  });
}

// The `count` largest (smallest) elements in order, NaN being the largest; of equal ones the lower index first. args: in, values, indices (int64);
// units: outer * inner.
TEMPLATE(k_top, Top, l) {
  using namespace k;
  with_type(l.dtype, [&]<class T>(T*) __attribute__((always_inline)) {
    ROLL for (idx u = u0; u < u1; u++) {
      const T* x = (const T*)args[0] + u / l.inner * l.len * l.inner + u % l.inner;
      T* best = (T*)args[1] + u / l.inner * l.count * l.inner + u % l.inner;
      int64_t* at = (int64_t*)args[2] + u / l.inner * l.count * l.inner + u % l.inner;
      idx n = 0;
      ROLL for (idx i = 0; i < l.len; i++) {
        const T v = x[i * l.inner];
        const auto before = [&](T b) __attribute__((always_inline)) { return l.smallest ? larger(b, v) : larger(v, b); };
        if (n == l.count && !before(best[(l.count - 1) * l.inner])) continue;
        idx q = n < l.count ? n++ : l.count - 1;
        ROLL for (; q > 0 && before(best[(q - 1) * l.inner]); q--) {
          best[q * l.inner] = best[(q - 1) * l.inner];
          at[q * l.inner] = at[(q - 1) * l.inner];
        }
        best[q * l.inner] = v;
        at[q * l.inner] = i;
      }
    }
  });
}

// Running sums. args: in, out; units: outer * ceil(inner / kArgPiece).
TEMPLATE(k_cumsum, CumSum, l) {
  using namespace k;
  const idx pieces = cdiv(l.inner, kArgPiece), step = l.reverse ? -l.inner : l.inner;
  with_type(l.dtype, [&]<class T>(T*) __attribute__((always_inline)) {
    const auto sums = [&](const T* x, T* y, idx n) __attribute__((always_inline)) {  // of n neighbours
      T sum[kArgPiece] = {};
      ROLL for (idx i = 0; i < l.len; i++, x += step, y += step) for (idx j = 0; j < n; j++) {
        const T before = sum[j];
        sum[j] = (T)(before + x[j]);
        y[j] = l.exclusive ? before : sum[j];
      }
    };
    ROLL for (idx u = u0; u < u1; u++) {
      const idx j = u % pieces * kArgPiece, n = imin(kArgPiece, l.inner - j), first = u / pieces * l.len * l.inner + j + (l.reverse ? (l.len - 1) * l.inner : 0);
      const T* x = (const T*)args[0] + first;
      T* y = (T*)args[1] + first;
      if (n == kArgPiece) sums(x, y, kArgPiece);
      else if (l.inner == 1) sums(x, y, 1);
      else sums(x, y, n);
    }
  });
}
#endif
