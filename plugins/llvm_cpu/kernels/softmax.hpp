// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: Softmax and LogSoftmax over one axis of [outer][len][inner].
//
// args: in, out (may not overlap), numbers of the ends or null. units: outer when inner is 1, else outer * ceil(inner / VL): a unit is one
// row, or VL neighbouring columns. The largest element is subtracted first; powers too small to be normal numbers, of which masks make many,
// are 0. Codes at the ends only when inner is 1; scratch: len floats when the result is codes.
#pragma once
#include "plugins/llvm_cpu/kernels/parts/row_ends.hpp"

namespace k {

struct Softmax {
  static constexpr char entry[] = "k_softmax";
  static constexpr void sizes(auto& l, auto mark) { mark(l.len, l.inner); }
  int64_t log, len, inner;  ///< log: LogSoftmax
  RowEnds ends;
};

}  // namespace k

#ifdef VW  // the template, which only clang compiles
#include "plugins/llvm_cpu/kernels/parts/lanes.hpp"
#include "plugins/llvm_cpu/kernels/parts/math.hpp"

namespace k::softmax {

/// The row from element `at` on. work: where its powers are kept, out itself when that is floats.
INL void row(const Softmax& l, const float* numbers, const void* in, idx at, float* work, void* out) {
  const idx full = l.len / VL * VL, rest = l.len - full;
  const auto x = [&](idx j, idx n, float fill) __attribute__((always_inline)) { return ld_row(l.ends, numbers, in, at + j, n, fill); };
  vec tops[4];  // each waits for itself alone. They may lose NaN: its power is NaN all the same, and so is the sum
  UNROLL for (idx q = 0; q < 4; q++) tops[q] = splat(-kInf);
  idx i = 0;
  ROLL for (; i + 4 * VL <= full; i += 4 * VL) UNROLL for (idx q = 0; q < 4; q++) tops[q] = vmax(tops[q], x(i + q * VL, VL, 0));
  ROLL for (; i < full; i += VL) tops[0] = vmax(tops[0], x(i, VL, 0));
  if (rest) tops[1] = vmax(tops[1], x(full, rest, -kInf));
  const auto larger = [](vec a, vec b) __attribute__((always_inline)) { return vmax(a, b); };
  const vec m = splat(across(vmax(vmax(tops[0], tops[1]), vmax(tops[2], tops[3])), larger));
  vec sum{};
  ROLL for (idx j = 0; j < full; j += VL) {
    if (l.ends.in == Stored::Floats) __builtin_prefetch((const float*)in + at + l.len + j, 0, 3);  // the next row, while this one's powers are computed
    const vec e = vexp_flushed(x(j, VL, 0) - m);
    sum += e;
    if (!l.log) st(work + j, e);
  }
  if (rest) {
    const vec e = keep(vexp_flushed(x(full, rest, 0) - m), rest, 0);
    sum += e;
    if (!l.log) st_part(work + full, e, rest);
  }
  const float total = lane_sum(sum);
  const vec shift = l.log ? vlog(splat(total)) : vec{}, scale = splat(1.f / total);
  const auto done = [&](idx j, idx n) __attribute__((always_inline)) {
    st_row(l.ends, numbers, out, at + j, l.log ? x(j, n, 0) - m - shift : ld_part(work + j, n, 0) * scale, n);
  };
  ROLL for (idx j = 0; j < full; j += VL) done(j, VL);
  if (rest) done(full, rest);
}

INL void columns(int64_t log, idx len, idx step, idx n, const float* in, float* out) {
  vec m = splat(-kInf), sum{};
  ROLL for (idx j = 0; j < len; j++) m = vmax(m, ld_part(in + j * step, n, 0));
  ROLL for (idx j = 0; j < len; j++) {
    const vec e = vexp_flushed(ld_part(in + j * step, n, 0) - m);
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
    const bool floats = l.ends.out == Stored::Floats;
    ROLL for (idx u = u0; u < u1; u++) softmax::row(l, (const float*)args[2], args[0], u * l.len, floats ? out + u * l.len : (float*)scratch, args[1]);
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
