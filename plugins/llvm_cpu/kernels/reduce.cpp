// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: reductions over any axes. The tensor is cut into up to four kept and four reduced dims; the output is the
// kept dims in order. One of the two groups ends in the contiguous dim: then vectors run along it.
#include "plugins/llvm_cpu/kernels/lanes.hpp"
#include "plugins/llvm_cpu/kernels/math.hpp"

namespace k::reduce {

enum { Sum, Mean, Max, Min, Prod, L1, L2, SumSquare, LogSum, LogSumExp };

INL float initial(int64_t op) { return op == Max || op == LogSumExp ? -kInf : op == Min ? kInf : op == Prod ? 1.f : 0.f; }
INL vec join(int64_t op, vec a, vec x) {
  if (op == Max || op == LogSumExp) return nan_max(a, x);
  if (op == Min) return nan_min(a, x);
  if (op == Prod) return a * x;
  if (op == L1) return a + vabs(x);
  if (op == L2 || op == SumSquare) return a + x * x;
  return a + x;
}
INL vec merge(int64_t op, vec a, vec b) {  // two partial results
  return op == L1 || op == L2 || op == SumSquare ? a + b : join(op, a, b);
}
INL vec finish(int64_t op, vec a, idx n) {
  if (op == Mean) return a / (float)n;
  if (op == L2) return vsqrt(a);
  if (op == LogSum) return vlog(a);
  return a;
}
INL float lanes(int64_t op, vec a) {
  return across(a, [&](float x, float y) __attribute__((always_inline)) { return merge(op, splat(x), splat(y))[0]; });
}
// Every combination of the reduced outer dims: body(offset).
template <class F>
INL void each(idx r0, idx r1, idx r2, idx t0, idx t1, idx t2, F body) {
  ROLL for (idx a = 0; a < r0; a++) ROLL for (idx b = 0; b < r1; b++) ROLL for (idx c = 0; c < r2; c++) body(a * t0 + b * t1 + c * t2);
}
struct Shape {
  idx k0, k1, k2, k3, s0, s1, s2, s3, r0, r1, r2, r3, t0, t1, t2, t3;
  METHOD idx kept_offset(idx u) const {  // u counts [k0][k1][k2]
    return u / (k1 * k2) * s0 + u / k2 % k1 * s1 + u % k2 * s2;
  }
};
// All elements under one output; f maps an element before joining.
template <class F>
INL float one(int64_t op, const Shape& s, const float* x, F f) {
  const idx four = s.r3 / (4 * VL) * (4 * VL), full = s.r3 / VL * VL, rest = s.r3 - full;
  vec a[4];
  UNROLL for (idx q = 0; q < 4; q++) a[q] = splat(initial(op));
  each(s.r0, s.r1, s.r2, s.t0, s.t1, s.t2, [&](idx at) __attribute__((always_inline)) {
    const float* p = x + at;
    ROLL for (idx j = 0; j < four; j += 4 * VL) UNROLL for (idx q = 0; q < 4; q++) a[q] = join(op, a[q], f(ld(p + j + q * VL)));
    ROLL for (idx j = four; j < full; j += VL) a[0] = join(op, a[0], f(ld(p + j)));
    if (rest) a[1] = join(op, a[1], keep(f(ld_part(p + full, rest, 0)), rest, initial(op)));
  });
  return lanes(op, merge(op, merge(op, a[0], a[1]), merge(op, a[2], a[3])));
}
template <class F>
INL vec lanewise(int64_t op, const Shape& s, const float* x, idx n, F f) {
  vec a = splat(initial(op));
  each(s.r0, s.r1, s.r2, s.t0, s.t1, s.t2, [&](idx at) __attribute__((always_inline)) {
    ROLL for (idx j = 0; j < s.r3; j++) a = join(op, a, f(ld_part(x + at + j * s.t3, n, 0)));
  });
  return a;
}
template <class T>
struct Wide {
  using type = int64_t;
};
template <>
struct Wide<float> {
  using type = float;
};
template <>
struct Wide<double> {
  using type = double;
};
INL vec finite_or_zero(vec m) { return vabs(m) < kInf ? m : vec{}; }

}  // namespace k::reduce

// args: in, out. Contiguous reduced dim (t3 == 1): k3 == 1, units k0*k1*k2. Contiguous kept dim (s3 == 1, t3 != 1): units
// k0*k1*k2*ceil(k3 / VL).
TEMPLATE(k_reduce, int64_t op, int64_t k0, int64_t k1, int64_t k2, int64_t k3, int64_t s0, int64_t s1, int64_t s2,
         int64_t r0, int64_t r1, int64_t r2, int64_t r3, int64_t t0, int64_t t1, int64_t t2, int64_t t3) {
  using namespace k;
  using namespace k::reduce;
  const Shape s{k0, k1, k2, k3, s0, s1, s2, 1, r0, r1, r2, r3, t0, t1, t2, t3};
  const auto plain = [](vec v) __attribute__((always_inline)) { return v; };
  const float* in = (const float*)args[0];
  float* out = (float*)args[1];
  if (t3 == 1) {
    ROLL for (idx u = u0; u < u1; u++) {
      const float* x = in + s.kept_offset(u);
      float v = one(op, s, x, plain);
      if (op == LogSumExp) {
        const vec m = finite_or_zero(splat(v));
        v = (vlog(splat(one(Sum, s, x, [&](vec e) __attribute__((always_inline)) { return vexp(e - m); }))) + m)[0];
      }
      out[u] = finish(op, splat(v), r0 * r1 * r2 * r3)[0];
    }
    return;
  }
  const idx parts = cdiv(k3, VL);
  ROLL for (idx u = u0; u < u1; u++) {
    const idx row = u / parts, j = u % parts * VL;
    const auto part = [&](idx n) __attribute__((always_inline)) {
      const float* x = in + s.kept_offset(row) + j;
      vec v = lanewise(op, s, x, n, plain);
      if (op == LogSumExp) {
        const vec m = finite_or_zero(v);
        v = vlog(lanewise(Sum, s, x, n, [&](vec e) __attribute__((always_inline)) { return vexp(e - m); })) + m;
      }
      st_part(out + row * k3 + j, finish(op, v, r0 * r1 * r2 * r3), n);
    };
    if (j + VL <= k3) part(VL);
    else part(k3 % VL);
  }
}

// The same for integers, which are joined in 64 bits (results keep their low bits, means round towards 0), and double, element
// by element. units: k0*k1*k2*k3.
TEMPLATE(k_reduce_any, int64_t dtype, int64_t op, int64_t k0, int64_t k1, int64_t k2, int64_t k3, int64_t s0, int64_t s1,
         int64_t s2, int64_t s3, int64_t r0, int64_t r1, int64_t r2, int64_t r3, int64_t t0, int64_t t1, int64_t t2,
         int64_t t3) {
  using namespace k;
  using namespace k::reduce;
  const Shape s{k0, k1, k2, k3, s0, s1, s2, s3, r0, r1, r2, r3, t0, t1, t2, t3};
  with_type(dtype, [&]<class T>(T*) __attribute__((always_inline)) {
    ROLL for (idx u = u0; u < u1; u++) {
      const T* x = (const T*)args[0] + s.kept_offset(u / k3) + u % k3 * s3;
      using Sum = typename Wide<T>::type;
      Sum a = op == Prod ? 1 : op == Max || op == Min ? *x : 0;
      each(r0, r1, r2, t0, t1, t2, [&](idx at) __attribute__((always_inline)) {
        ROLL for (idx j = 0; j < r3; j++) {
          const Sum v = x[at + j * t3];
          if (op == Max) a = v > a || v != v ? v : a;
          else if (op == Min) a = v < a || v != v ? v : a;
          else if (op == Prod) a = a * v;
          else if (op == L1) a += v < 0 ? -v : v;
          else if (op == SumSquare) a += v * v;
          else a += v;
        }
      });
      ((T*)args[1])[u] = (T)(op == Mean ? a / (Sum)(r0 * r1 * r2 * r3) : a);
    }
  });
}
