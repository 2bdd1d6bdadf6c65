// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: what happens to a result before it is stored: bias, residual, activation. Numbers are part of KernelSpec.
#pragma once
#include "plugins/llvm_cpu/kernels/math.hpp"
#include "plugins/llvm_cpu/kernels/tail.hpp"

namespace k {

/// The activation with parameters lo, hi (see tail.hpp).
INL vec activate(vec v, int64_t act, float lo, float hi) {
  if (act == kRelu) return vmax(vec{}, v);
  if (act == kClip) return vmin(splat(hi), vmax(splat(lo), v));
  if (act == kLeaky) return v > 0.f ? v : v * lo;
  if (act == kSigmoid) return vsigmoid(v);
  if (act == kSilu) return vsilu(v);
  if (act == kTanh) return vtanh(v);
  if (act == kHardSigmoid) return vmin(splat(1.f), vmax(vec{}, v * lo + hi));
  if (act == kHardSwish) return v * vmin(splat(1.f), vmax(vec{}, v * lo + hi));
  if (act == kGelu) return vgelu(v);
  if (act == kGeluTanh) return vgelu_tanh(v);
  if (act == kMish) return vmish(v);
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
