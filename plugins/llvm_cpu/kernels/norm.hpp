// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: normalizations of contiguous rows (Layer, Instance, Group, RMS), along an axis (Lp) and across channels
// (LRN).
#pragma once
#include "plugins/llvm_cpu/kernels/parts/row_ends.hpp"

namespace k {

struct Norm {
  static constexpr char entry[] = "k_norm";
  static constexpr void sizes(auto& l, auto mark) { mark(l.len, l.period, l.channels, l.span); }
  int64_t rms, has_scale, has_bias;
  double epsilon;
  int64_t len, period, channels, span;
  RowEnds ends;
};
struct LpNorm {
  static constexpr char entry[] = "k_lp_norm";
  static constexpr void sizes(auto& l, auto mark) { mark(l.len, l.inner); }
  int64_t p, len, inner;
};
struct Lrn {
  static constexpr char entry[] = "k_lrn";
  static constexpr void sizes(auto& l, auto mark) { mark(l.channels, l.inner); }
  int64_t size;
  double alpha, beta, bias;
  int64_t channels, inner;
};

}  // namespace k

#ifdef VW  // the template, which only clang compiles
#include "plugins/llvm_cpu/kernels/parts/lanes.hpp"
#include "plugins/llvm_cpu/kernels/parts/math.hpp"

namespace k::norm {

// Sum over a row of f(x(first element, elements)): four running vectors, joined in a fixed order.
template <class X, class F>
INL float total(X x, idx len, F f) {
  vec s[4] = {};
  const idx four = len / (4 * VL) * (4 * VL), full = len / VL * VL;
  ROLL for (idx j = 0; j < four; j += 4 * VL) UNROLL for (idx q = 0; q < 4; q++) s[q] += f(x(j + q * VL, VL));
  ROLL for (idx j = four; j < full; j += VL) s[0] += f(x(j, VL));
  if (len > full) s[1] += keep(f(x(full, len - full)), len - full, 0);
  return lane_sum((s[0] + s[1]) + (s[2] + s[3]));
}
// y(j, elements, (x(j, elements) - mean) * factor * scale + bias); scale and bias advance with j when step is 1, else they are one number.
template <class X, class Y>
INL void apply(X x, Y y, idx len, float mean, float factor, const float* scale, const float* bias, idx step) {
  const idx full = len / VL * VL;
  const auto part = [&](idx j, idx n) __attribute__((always_inline)) {
    vec v = (x(j, n) - mean) * factor;
    if (scale) v *= step ? ld_part(scale + j, n, 0) : splat(*scale);
    if (bias) v += step ? ld_part(bias + j, n, 0) : splat(*bias);
    y(j, n, v);
  };
  ROLL for (idx j = 0; j < full; j += VL) part(j, VL);
  if (len > full) part(full, len - full);
}

}  // namespace k::norm

// Row r of [rows][len]: mean and variance (rms: mean of squares only), then scale and bias of channel
// (r % period) * channels + j / span of element j. args: in, scale, bias, out, numbers of the ends or null; units: rows.
// Layer and RMS: period 1, channels = len, span 1. Instance: period C, channels 1, span len. Group: period G, channels C / G,
// span H * W.
TEMPLATE(k_norm, Norm, l) {
  using namespace k;
  ROLL for (idx r = u0; r < u1; r++) {
    const auto x = [&](idx j, idx n) __attribute__((always_inline)) { return ld_row(l.ends, (const float*)args[4], args[0], r * l.len + j, n, 0); };
    const auto y = [&](idx j, idx n, vec v) __attribute__((always_inline)) { st_row(l.ends, (const float*)args[4], args[3], r * l.len + j, v, n); };
    const idx first = r % l.period * l.channels;
    const float* scale = l.has_scale ? (const float*)args[1] + first : nullptr;
    const float* bias = l.has_bias ? (const float*)args[2] + first : nullptr;
    const float mean = l.rms ? 0.f : norm::total(x, l.len, [](vec v) __attribute__((always_inline)) { return v; }) / (float)l.len;
    const float square = norm::total(x, l.len, [&](vec v) __attribute__((always_inline)) { return (v - mean) * (v - mean); });
    const float factor = 1.f / __builtin_elementwise_sqrt(square / (float)l.len + (float)l.epsilon);
    if (l.span == 1) norm::apply(x, y, l.len, mean, factor, scale, bias, 1);
    else ROLL for (idx c = 0; c < l.channels; c++)
      norm::apply([&](idx j, idx n) __attribute__((always_inline)) { return x(c * l.span + j, n); },
                  [&](idx j, idx n, vec v) __attribute__((always_inline)) { y(c * l.span + j, n, v); },
                  l.span, mean, factor, scale ? scale + c : nullptr, bias ? bias + c : nullptr, 0);
  }
}

// LpNormalization over [outer][len][inner], p = 1 or 2. args: in, out; units: outer * ceil(inner / VL). 0 / 0 gives 0.
TEMPLATE(k_lp_norm, LpNorm, l) {
  using namespace k;
  const idx parts = cdiv(l.inner, VL);
  ROLL for (idx u = u0; u < u1; u++) {
    const idx part = u % parts, at = u / parts * l.len * l.inner + part * VL, n = imin(VL, l.inner - part * VL);
    const float* x = (const float*)args[0] + at;
    float* y = (float*)args[1] + at;
    vec s{};
    if (l.inner == 1) {
      s = splat(norm::total([&](idx j, idx n) __attribute__((always_inline)) { return ld_part(x + j, n, 0); }, l.len,
                            [&](vec v) __attribute__((always_inline)) { return l.p == 1 ? vabs(v) : v * v; }));
    } else {
      ROLL for (idx j = 0; j < l.len; j++) {
        const vec v = ld_part(x + j * l.inner, n, 0);
        s += l.p == 1 ? vabs(v) : v * v;
      }
    }
    const vec length = l.p == 1 ? s : vsqrt(s);
    ROLL for (idx j = 0; j < l.len; j++) {
      const vec v = ld_part(x + j * l.inner, n, 0) / length;
      st_part(y + j * l.inner, length == 0.f ? vec{} : v, n);
    }
  }
}

// LRN over [batch][channels][inner]: x / (bias + alpha / size * sum of squares of `size` neighbouring channels) ^ beta.
// args: in, out; units: batch * channels.
TEMPLATE(k_lrn, Lrn, l) {
  using namespace k;
  ROLL for (idx u = u0; u < u1; u++) {
    const idx c = u % l.channels, lo = imax(0, c - (l.size - 1) / 2), hi = imin(l.channels, c + l.size / 2 + 1);
    const float* image = (const float*)args[0] + (u - c) * l.inner;
    float* y = (float*)args[1] + u * l.inner;
    ROLL for (idx j = 0; j < l.inner; j += VL) {
      const idx n = imin(VL, l.inner - j);
      vec s{};
      ROLL for (idx q = lo; q < hi; q++) {
        const vec v = ld_part(image + q * l.inner + j, n, 0);
        s += v * v;
      }
      const vec base = (float)l.bias + (float)l.alpha / (float)l.size * s;
      const vec power = (float)l.beta == 0.75f ? vsqrt(base) * vsqrt(vsqrt(base)) : (float)l.beta == 0.5f ? vsqrt(base) : vpow(base, splat((float)l.beta));
      st_part(y + j, ld_part(image + c * l.inner + j, n, 0) / power, n);
    }
  }
}
#endif
