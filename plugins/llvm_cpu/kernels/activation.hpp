// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: what happens to a result before it is stored: bias, residual, activation. Numbers are part of KernelSpec.
#pragma once
#include "plugins/llvm_cpu/kernels/vec.hpp"
#include "plugins/llvm_cpu/kernels/tail.hpp"

namespace k {

/// exp(v), within 2 ulp for -87 <= v <= 88, saturating outside: range reduction by ln 2 in two parts, degree 6 polynomial.
INL vec exp_bounded(vec v) {
  v = vmin(splat(88.0f), vmax(splat(-87.0f), v));
  const vec shift = splat(12582912.f);  // 1.5 * 2^23: adding it rounds to an integer
  const vec n = (v * 1.44269504f + shift) - shift;
  const vec r = (v - n * 0.693359375f) + n * 2.12194440e-4f;
  vec p = splat(1.3981999e-3f);
  p = p * r + 8.3334519e-3f;
  p = p * r + 4.1665796e-2f;
  p = p * r + 1.6666666e-1f;
  p = p * r + 0.5f;
  p = p * r * r + r + 1.0f;
  const ivec scale = (__builtin_convertvector(n, ivec) + 127) << 23;
  return p * (vec)scale;
}
INL vec logistic(vec v) { return splat(1.f) / (splat(1.f) + exp_bounded(-v)); }

/// The activation with parameters lo, hi (see tail.hpp).
INL vec activate(vec v, int64_t act, float lo, float hi) {
  if (act == kRelu) return vmax(vec{}, v);
  if (act == kClip) return vmin(splat(hi), vmax(splat(lo), v));
  if (act == kLeaky) return v > 0.f ? v : v * lo;
  if (act == kSigmoid) return logistic(v);
  if (act == kSilu) return v * logistic(v);
  if (act == kTanh) return logistic(v * 2.f) * 2.f - 1.f;
  if (act == kHardSigmoid) return vmin(splat(1.f), vmax(vec{}, v * lo + hi));
  if (act == kHardSwish) return v * vmin(splat(1.f), vmax(vec{}, v * lo + hi));
  return v;
}

/// bias was added before; res is read only when asked for.
INL vec finish(vec v, int64_t tail, int64_t act, float lo, float hi, const float* res) {
  if (tail & kResidual) v += ld(res);
  v = activate(v, act, lo, hi);
  if (tail & kResidualAfter) v += ld(res);
  return v;
}

}  // namespace k
