// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: normalizations of contiguous rows (Layer, Instance, Group, RMS), along an axis (Lp) and across channels
// (LRN).
#include "plugins/llvm_cpu/kernels/lanes.hpp"
#include "plugins/llvm_cpu/kernels/math.hpp"

namespace k::norm {

// Sum over a row of f(element): four running vectors, joined in a fixed order.
template <class F>
INL float total(const float* x, idx len, F f) {
  vec s[4] = {};
  const idx four = len / (4 * VL) * (4 * VL), full = len / VL * VL;
  ROLL for (idx j = 0; j < four; j += 4 * VL) UNROLL for (idx q = 0; q < 4; q++) s[q] += f(ld(x + j + q * VL));
  ROLL for (idx j = four; j < full; j += VL) s[0] += f(ld(x + j));
  if (len > full) s[1] += keep(f(ld_part(x + full, len - full, 0)), len - full, 0);
  return lane_sum((s[0] + s[1]) + (s[2] + s[3]));
}
// y = (x - mean) * factor * scale + bias; scale and bias advance with j when step is 1, else they are one number.
INL void apply(const float* x, float* y, idx len, float mean, float factor, const float* scale, const float* bias, idx step) {
  const idx full = len / VL * VL;
  const auto part = [&](idx j, idx n) __attribute__((always_inline)) {
    vec v = (ld_part(x + j, n, 0) - mean) * factor;
    if (scale) v *= step ? ld_part(scale + j, n, 0) : splat(*scale);
    if (bias) v += step ? ld_part(bias + j, n, 0) : splat(*bias);
    st_part(y + j, v, n);
  };
  ROLL for (idx j = 0; j < full; j += VL) part(j, VL);
  if (len > full) part(full, len - full);
}

}  // namespace k::norm

// Row r of [rows][len]: mean and variance (rms: mean of squares only), then scale and bias of channel
// (r % period) * channels + j / span of element j. args: in, scale, bias, out; units: rows.
// Layer and RMS: period 1, channels = len, span 1. Instance: period C, channels 1, span len. Group: period G, channels C / G,
// span H * W.
TEMPLATE(k_norm, int64_t rms, int64_t has_scale, int64_t has_bias, float epsilon, int64_t len, int64_t period,
         int64_t channels, int64_t span) {
  using namespace k;
  ROLL for (idx r = u0; r < u1; r++) {
    const float* x = (const float*)args[0] + r * len;
    float* y = (float*)args[3] + r * len;
    const idx first = r % period * channels;
    const float* scale = has_scale ? (const float*)args[1] + first : nullptr;
    const float* bias = has_bias ? (const float*)args[2] + first : nullptr;
    const float mean = rms ? 0.f : norm::total(x, len, [](vec v) __attribute__((always_inline)) { return v; }) / (float)len;
    const float square = norm::total(x, len, [&](vec v) __attribute__((always_inline)) { return (v - mean) * (v - mean); });
    const float factor = 1.f / __builtin_elementwise_sqrt(square / (float)len + epsilon);
    if (span == 1) norm::apply(x, y, len, mean, factor, scale, bias, 1);
    else ROLL for (idx c = 0; c < channels; c++)
      norm::apply(x + c * span, y + c * span, span, mean, factor, scale ? scale + c : nullptr, bias ? bias + c : nullptr, 0);
  }
}

// LpNormalization over [outer][len][inner], p = 1 or 2. args: in, out; units: outer * ceil(inner / VL). 0 / 0 gives 0.
TEMPLATE(k_lp_norm, int64_t p, int64_t len, int64_t inner) {
  using namespace k;
  const idx parts = cdiv(inner, VL);
  ROLL for (idx u = u0; u < u1; u++) {
    const idx part = u % parts, at = u / parts * len * inner + part * VL, n = imin(VL, inner - part * VL);
    const float* x = (const float*)args[0] + at;
    float* y = (float*)args[1] + at;
    vec s{};
    if (inner == 1) {
      s = splat(norm::total(x, len, [&](vec v) __attribute__((always_inline)) { return p == 1 ? vabs(v) : v * v; }));
    } else {
      ROLL for (idx j = 0; j < len; j++) {
        const vec v = ld_part(x + j * inner, n, 0);
        s += p == 1 ? vabs(v) : v * v;
      }
    }
    const vec length = p == 1 ? s : vsqrt(s);
    ROLL for (idx j = 0; j < len; j++) {
      const vec v = ld_part(x + j * inner, n, 0) / length;
      st_part(y + j * inner, length == 0.f ? vec{} : v, n);
    }
  }
}

// LRN over [batch][channels][inner]: x / (bias + alpha / size * sum of squares of `size` neighbouring channels) ^ beta.
// args: in, out; units: batch * channels.
TEMPLATE(k_lrn, int64_t size, float alpha, float beta, float bias, int64_t channels, int64_t inner) {
  using namespace k;
  ROLL for (idx u = u0; u < u1; u++) {
    const idx c = u % channels, lo = imax(0, c - (size - 1) / 2), hi = imin(channels, c + size / 2 + 1);
    const float* image = (const float*)args[0] + (u - c) * inner;
    float* y = (float*)args[1] + u * inner;
    ROLL for (idx j = 0; j < inner; j += VL) {
      const idx n = imin(VL, inner - j);
      vec s{};
      ROLL for (idx q = lo; q < hi; q++) {
        const vec v = ld_part(image + q * inner + j, n, 0);
        s += v * v;
      }
      const vec base = bias + alpha / (float)size * s;
      const vec power = beta == 0.75f ? vsqrt(base) * vsqrt(vsqrt(base)) : beta == 0.5f ? vsqrt(base) : vpow(base, splat(beta));
      st_part(y + j, ld_part(image + c * inner + j, n, 0) / power, n);
    }
  }
}
