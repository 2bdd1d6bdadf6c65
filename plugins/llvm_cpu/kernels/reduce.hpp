// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: reductions over any axes. The tensor is cut into up to four kept and four reduced dims; the output is the
// kept dims in order. One of the two groups ends in the contiguous dim: then vectors run along it.
#pragma once
#include "plugins/llvm_cpu/kernels/parts/literals.hpp"

namespace k {

enum class ReduceOp : int64_t { Sum, Mean, Max, Min, Prod, L1, L2, SumSquare, LogSum, LogSumExp };
/// Sizes and steps of the dims that stay and of those that go.
struct ReduceDims {
  List<4> kept, kept_step, gone, gone_step;
};
struct Reduce {
  static constexpr char entry[] = "k_reduce";
  static constexpr void sizes(auto& l, auto mark) { mark(l.dims.kept, l.dims.kept_step, l.dims.gone, l.dims.gone_step); }
  ReduceOp op;
  ReduceDims dims;
};
struct ReduceAny {
  static constexpr char entry[] = "k_reduce_any";
  static constexpr void sizes(auto& l, auto mark) { mark(l.dims.kept, l.dims.kept_step, l.dims.gone, l.dims.gone_step); }
  int64_t dtype;
  ReduceOp op;
  ReduceDims dims;
};

}  // namespace k

#ifdef VW  // the template, which only clang compiles
#include "plugins/llvm_cpu/kernels/parts/lanes.hpp"
#include "plugins/llvm_cpu/kernels/parts/math.hpp"

namespace k::reduce {

using enum ReduceOp;

INL float initial(ReduceOp op) { return op == Max || op == LogSumExp ? -kInf : op == Min ? kInf : op == Prod ? 1.f : 0.f; }
INL vec join(ReduceOp op, vec a, vec x) {
  if (op == Max || op == LogSumExp) return nan_max(a, x);
  if (op == Min) return nan_min(a, x);
  if (op == Prod) return a * x;
  if (op == L1) return a + vabs(x);
  if (op == L2 || op == SumSquare) return a + x * x;
  return a + x;
}
INL vec merge(ReduceOp op, vec a, vec b) {  // two partial results
  return op == L1 || op == L2 || op == SumSquare ? a + b : join(op, a, b);
}
INL vec finish(ReduceOp op, vec a, idx n) {
  if (op == Mean) return a / (float)n;
  if (op == L2) return vsqrt(a);
  if (op == LogSum) return vlog(a);
  return a;
}
INL float lanes(ReduceOp op, vec a) {
  return across(a, [&](vec x, vec y) __attribute__((always_inline)) { return merge(op, x, y); });
}
// Every combination of the reduced outer dims: body(offset).
template <class F>
INL void each(const ReduceDims& d, F body) {
  ROLL for (idx a = 0; a < d.gone[0]; a++) ROLL for (idx b = 0; b < d.gone[1]; b++) ROLL for (idx c = 0; c < d.gone[2]; c++)
    body(a * d.gone_step[0] + b * d.gone_step[1] + c * d.gone_step[2]);
}
INL idx joined(const ReduceDims& d) { return d.gone[0] * d.gone[1] * d.gone[2] * d.gone[3]; }
INL idx kept_offset(const ReduceDims& d, idx u) {  // u counts the first three kept dims
  if (d.kept[0] * d.kept[1] == 1) return u * d.kept_step[2];  // divisions take as long as a short row
  return u / (d.kept[1] * d.kept[2]) * d.kept_step[0] + u / d.kept[2] % d.kept[1] * d.kept_step[1] + u % d.kept[2] * d.kept_step[2];
}
// Of a long run of elements, parts are joined by themselves and then with what came before: a running sum of n numbers loses some n roundings
// of its own size, which variances that are differences of two sums do not bear.
constexpr idx kPart = 64;
// The largest (smallest) element under one output. NaN is looked for beside: comparing with it in mind takes three times as long.
INL float extreme(bool least, const ReduceDims& d, const float* x) {
  const idx four = d.gone[3] / (4 * VL) * (4 * VL), full = d.gone[3] / VL * VL, rest = d.gone[3] - full;
  const float none = least ? kInf : -kInf;
  const auto further = [&](vec v, vec a) __attribute__((always_inline)) { return least ? vmin(v, a) : vmax(v, a); };  // `a` where v is NaN
  vec a[4];
  ivec bad{};
  UNROLL for (idx q = 0; q < 4; q++) a[q] = splat(none);
  const auto add = [&](idx q, vec v) __attribute__((always_inline)) { a[q] = further(v, a[q]), bad |= v != v; };
  each(d, [&](idx at) __attribute__((always_inline)) {
    const float* p = x + at;
    idx j = 0;
    ROLL for (; j < four; j += 4 * VL) UNROLL for (idx q = 0; q < 4; q++) add(q, ld(p + j + q * VL));
    ROLL for (; j < full; j += VL) add(0, ld(p + j));
    if (rest) add(1, ld_part(p + full, rest, none));
  });
  if (__builtin_reduce_or(bad)) return __builtin_nanf("");
  return across(further(further(a[0], a[1]), further(a[2], a[3])), further);
}
// All elements under one output; f maps an element before joining.
template <class F>
INL float one(ReduceOp op, const ReduceDims& d, const float* x, F f) {
  const idx four = d.gone[3] / (4 * VL) * (4 * VL), full = d.gone[3] / VL * VL, rest = d.gone[3] - full;
  vec a[4], all = splat(initial(op));
  const auto merged = [&]() __attribute__((always_inline)) { return merge(op, merge(op, a[0], a[1]), merge(op, a[2], a[3])); };
  UNROLL for (idx q = 0; q < 4; q++) a[q] = splat(initial(op));
  each(d, [&](idx at) __attribute__((always_inline)) {
    const float* p = x + at;
    idx j = 0;
    ROLL for (; j + kPart * 4 * VL < four;) {
      const idx end = j + kPart * 4 * VL;
      ROLL for (; j < end; j += 4 * VL) UNROLL for (idx q = 0; q < 4; q++) a[q] = join(op, a[q], f(ld(p + j + q * VL)));
      all = merge(op, all, merged());
      UNROLL for (idx q = 0; q < 4; q++) a[q] = splat(initial(op));
    }
    ROLL for (; j < four; j += 4 * VL) UNROLL for (idx q = 0; q < 4; q++) a[q] = join(op, a[q], f(ld(p + j + q * VL)));
    ROLL for (; j < full; j += VL) a[0] = join(op, a[0], f(ld(p + j)));
    if (rest) a[1] = join(op, a[1], keep(f(ld_part(p + full, rest, 0)), rest, initial(op)));
  });
  return lanes(op, merge(op, all, merged()));
}
// The same of a vector of outputs. Four run beside each other: a sum waits for the one before.
template <class F>
INL vec lanewise(ReduceOp op, const ReduceDims& d, const float* x, idx n, F f) {
  vec all = splat(initial(op));
  const idx fours = d.gone[3] / 4 * 4;
  each(d, [&](idx at) __attribute__((always_inline)) {
    const auto element = [&](idx j) __attribute__((always_inline)) { return f(ld_part(x + at + j * d.gone_step[3], n, 0)); };
    idx j = 0;
    ROLL for (; j < fours;) {
      const idx end = imin(j + kPart, fours);
      vec a[4];
      UNROLL for (idx q = 0; q < 4; q++) a[q] = splat(initial(op));
      ROLL for (; j < end; j += 4) UNROLL for (idx q = 0; q < 4; q++) a[q] = join(op, a[q], element(j + q));
      all = merge(op, all, merge(op, merge(op, a[0], a[1]), merge(op, a[2], a[3])));
    }
    ROLL for (; j < d.gone[3]; j++) all = join(op, all, element(j));
  });
  return all;
}
template <class T>
struct Wide {
  using type = int64_t;
  static constexpr bool is_real = false;
};
template <>
struct Wide<float> {
  using type = float;
  static constexpr bool is_real = true;
};
template <>
struct Wide<double> {
  using type = double;
  static constexpr bool is_real = true;
};
/// The largest (smallest) of n integers side by side and `a`.
template <class T>
INL T extreme_whole(bool least, const T* x, idx n, T a) {
  typedef T lanes __attribute__((vector_size(VW * 4)));
  constexpr idx kLanes = VW * 4 / sizeof(T);
  const auto at = [&](idx j) __attribute__((always_inline)) {
    lanes v;
    __builtin_memcpy(&v, x + j, sizeof v);
    return v;
  };
  idx j = 0;
  if (n >= kLanes) {
    lanes best = at(0);
    ROLL for (j = kLanes; j < n; j += kLanes) {  // the last ones go over what those before did
      const lanes v = at(imin(j, n - kLanes));
      best = (least ? v < best : v > best) ? v : best;
    }
    UNROLL for (idx l = 0; l < kLanes; l++) a = (least ? best[l] < a : best[l] > a) ? best[l] : a;
    return a;
  }
  ROLL for (; j < n; j++) a = (least ? x[j] < a : x[j] > a) ? x[j] : a;
  return a;
}
INL vec finite_or_zero(vec m) { return vabs(m) < kInf ? m : vec{}; }

}  // namespace k::reduce

// args: in, out. Contiguous reduced dim (its step is 1): kept[3] == 1, units: the kept dims. Contiguous kept dim (its step is 1 and
// that of the reduced one is not): units kept[0] * kept[1] * kept[2] * ceil(kept[3] / VL).
TEMPLATE(k_reduce, Reduce, l) {
  using namespace k;
  using namespace k::reduce;
  const ReduceDims& d = l.dims;
  const auto plain = [](vec v) __attribute__((always_inline)) { return v; };
  const float* in = (const float*)args[0];
  float* out = (float*)args[1];
  if (d.gone_step[3] == 1) {
    ROLL for (idx u = u0; u < u1; u++) {
      const float* x = in + kept_offset(d, u);
      float v = l.op == Max || l.op == Min || l.op == LogSumExp ? extreme(l.op == Min, d, x) : one(l.op, d, x, plain);
      if (l.op == LogSumExp) {
        const vec m = finite_or_zero(splat(v));
        v = (vlog(splat(one(Sum, d, x, [&](vec e) __attribute__((always_inline)) { return vexp(e - m); }))) + m)[0];
      }
      out[u] = finish(l.op, splat(v), joined(d))[0];
    }
    return;
  }
  const idx parts = cdiv(d.kept[3], VL);
  ROLL for (idx u = u0; u < u1; u++) {
    const idx row = u / parts, j = u % parts * VL;
    const auto part = [&](idx n) __attribute__((always_inline)) {
      const float* x = in + kept_offset(d, row) + j;
      vec v = lanewise(l.op, d, x, n, plain);
      if (l.op == LogSumExp) {
        const vec m = finite_or_zero(v);
        v = vlog(lanewise(Sum, d, x, n, [&](vec e) __attribute__((always_inline)) { return vexp(e - m); })) + m;
      }
      st_part(out + row * d.kept[3] + j, finish(l.op, v, joined(d)), n);
    };
    if (j + VL <= d.kept[3]) part(VL);
    else part(d.kept[3] % VL);
  }
}

// The same for integers, which are joined in 64 bits (results keep their low bits, means round towards 0), and double, element
// by element. units: the kept dims.
TEMPLATE(k_reduce_any, ReduceAny, l) {
  using namespace k;
  using namespace k::reduce;
  const ReduceDims& d = l.dims;
  with_type(l.dtype, [&]<class T>(T*) __attribute__((always_inline)) {
    ROLL for (idx u = u0; u < u1; u++) {
      const T* x = (const T*)args[0] + kept_offset(d, u / d.kept[3]) + u % d.kept[3] * d.kept_step[3];
      using Sum = typename Wide<T>::type;
      Sum a = l.op == Prod ? 1 : l.op == Max || l.op == Min ? *x : 0;
      each(d, [&](idx at) __attribute__((always_inline)) {
        if constexpr (sizeof(T) >= 4 && !Wide<T>::is_real)
          if ((l.op == Max || l.op == Min) && d.gone_step[3] == 1) return (void)(a = extreme_whole<T>(l.op == Min, x + at, d.gone[3], (T)a));
        ROLL for (idx j = 0; j < d.gone[3]; j++) {
          const Sum v = x[at + j * d.gone_step[3]];
          if (l.op == Max) a = v > a || v != v ? v : a;
          else if (l.op == Min) a = v < a || v != v ? v : a;
          else if (l.op == Prod) a = a * v;
          else if (l.op == L1) a += v < 0 ? -v : v;
          else if (l.op == SumSquare) a += v * v;
          else a += v;
        }
      });
      ((T*)args[1])[u] = (T)(l.op == Mean ? a / (Sum)(joined(d)) : a);
    }
  });
}
#endif
