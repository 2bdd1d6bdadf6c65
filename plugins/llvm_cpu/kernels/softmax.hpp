// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: Softmax and LogSoftmax over one axis of [outer][len][inner].
//
// args: in, out (may not overlap). units: outer when inner is 1, else outer * ceil(inner / VL): a unit is one row, or VL
// neighbouring columns. The largest element is subtracted first.
#pragma once
#include "plugins/llvm_cpu/kernels/parts/literals.hpp"

namespace k {

struct Softmax {
  static constexpr char entry[] = "k_softmax";
  int64_t log, len, inner;  ///< log: LogSoftmax
};

}  // namespace k

#ifdef VW  // the template, which only clang compiles
#include "plugins/llvm_cpu/kernels/parts/lanes.hpp"
#include "plugins/llvm_cpu/kernels/parts/math.hpp"

namespace k::softmax {

INL void row(int64_t log, idx len, const float* in, float* out) {
  const idx full = len / VL * VL, rest = len - full;
  vec top = splat(-kInf);
  ROLL for (idx j = 0; j < full; j += VL) top = nan_max(top, ld(in + j));
  if (rest) top = nan_max(top, ld_part(in + full, rest, -kInf));
  const vec m = splat(lane_max(top));
  vec sum{};
  ROLL for (idx j = 0; j < full; j += VL) {
    const vec e = vexp(ld(in + j) - m);
    sum += e;
    if (!log) st(out + j, e);
  }
  if (rest) {
    const vec e = keep(vexp(ld_part(in + full, rest, 0) - m), rest, 0);
    sum += e;
    if (!log) st_part(out + full, e, rest);
  }
  const float total = lane_sum(sum);
  if (log) {
    const vec shift = vlog(splat(total));
    ROLL for (idx j = 0; j < full; j += VL) st(out + j, ld(in + j) - m - shift);
    if (rest) st_part(out + full, ld_part(in + full, rest, 0) - m - shift, rest);
  } else {
    const vec scale = splat(1.f / total);
    ROLL for (idx j = 0; j < full; j += VL) st(out + j, ld(out + j) * scale);
    if (rest) st_part(out + full, ld_part(out + full, rest, 0) * scale, rest);
  }
}

INL void columns(int64_t log, idx len, idx step, idx n, const float* in, float* out) {
  vec m = splat(-kInf), sum{};
  ROLL for (idx j = 0; j < len; j++) m = nan_max(m, ld_part(in + j * step, n, 0));
  ROLL for (idx j = 0; j < len; j++) {
    const vec e = vexp(ld_part(in + j * step, n, 0) - m);
    sum += e;
    if (!log) st_part(out + j * step, e, n);
  }
  const vec tail = log ? vlog(sum) : 1.f / sum;
  ROLL for (idx j = 0; j < len; j++) {
    const vec v = log ? ld_part(in + j * step, n, 0) - m - tail : ld_part(out + j * step, n, 0) * tail;
    st_part(out + j * step, v, n);
  }
}

}  // namespace k::softmax

TEMPLATE(k_softmax, Softmax, l) {
  using namespace k;
  const float* in = (const float*)args[0];
  float* out = (float*)args[1];
  if (l.inner == 1) {
    ROLL for (idx u = u0; u < u1; u++) softmax::row(l.log, l.len, in + u * l.len, out + u * l.len);
    return;
  }
  const idx parts = cdiv(l.inner, VL), last = l.inner - (parts - 1) * VL;
  ROLL for (idx u = u0; u < u1; u++) {
    const idx part = u % parts, at = u / parts * l.len * l.inner + part * VL;
    if (part < parts - 1) softmax::columns(l.log, l.len, l.inner, VL, in + at, out + at);
    else softmax::columns(l.log, l.len, l.inner, last, in + at, out + at);
  }
}
#endif
