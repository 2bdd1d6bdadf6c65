// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: what happens to a result before it is stored: bias, residual, activation.
#pragma once
#include "plugins/llvm_cpu/kernels/parts/math.hpp"
#include "plugins/llvm_cpu/kernels/parts/tail.hpp"

namespace k {

INL vec activate(vec v, const Activation& a) {
  const Act act = a.kind;
  const float lo = (float)a.lo, hi = (float)a.hi;
  if (act == Act::Relu) return vmax(vec{}, v);
  if (act == Act::Clip) return vmin(splat(hi), vmax(splat(lo), v));
  if (act == Act::Leaky) return v > 0.f ? v : v * lo;
  if (act == Act::Sigmoid) return vsigmoid(v);
  if (act == Act::Silu) return vsilu(v);
  if (act == Act::Tanh) return vtanh(v);
  if (act == Act::HardSigmoid) return vmin(splat(1.f), vmax(vec{}, v * lo + hi));
  if (act == Act::HardSwish) return v * vmin(splat(1.f), vmax(vec{}, v * lo + hi));
  if (act == Act::Gelu) return vgelu(v);
  if (act == Act::GeluTanh) return vgelu_tanh(v);
  if (act == Act::Mish) return vmish(v);
  return v;
}

/// bias, which was added before, is that of v's channels; it and res are read only when asked for.
INL vec finish(vec v, const Tail& tail, const float* bias, const float* res) {
  if (tail.bits & kResidual) v += ld(res);
  v = activate(v, tail.act);
  if (tail.bits & kScaled) v = v * (float)tail.scale + (float)tail.shift;
  if (tail.bits & kNormalised) v = v * ld(bias + tail.apart) + ld(bias + 2 * tail.apart);
  if (tail.bits & kResidualAfter) v += ld(res);
  return v;
}

}  // namespace k
