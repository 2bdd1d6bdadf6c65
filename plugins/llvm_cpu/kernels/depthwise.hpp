// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: depthwise convolution, blocked, one output channel per input channel. Weights: Pack::Channels.
// No barrier here: each multiply-add needs its own vector load, so sharing loads between taps is the gain.
#pragma once
#include "plugins/llvm_cpu/kernels/parts/tail.hpp"

namespace k {

struct Depthwise {
  static constexpr char entry[] = "k_depthwise";
  static constexpr void sizes(auto& l, auto mark) { mark(l.H, l.W, l.OH, l.OW, l.out_image, l.res_image); }
  static constexpr void hints(auto& l, auto mark) { mark(l.WT); }
  int64_t WT;
  Tail tail;
  int64_t CB, H, W, OH, OW, KH, KW, SH, SW, DH, DW, PT, PL, out_image, res_image;
};

}  // namespace k

#ifdef VW  // the template, which only clang compiles
#include "plugins/llvm_cpu/kernels/parts/dense.hpp"

namespace k {

INL void depthwise_tile(const Depthwise& s, idx wt, idx L, idx R, idx kh0, idx kh1, const float* in, idx off,
                        const float* w, const float* bias, const float* res, float* out) {
  vec acc[32];
  UNROLL for (idx p = 0; p < wt; p++) acc[p] = s.tail.bits & kBias ? ld(bias) : vec{};
  ROLL for (idx kh = kh0; kh < kh1; kh++) {
    each_tap(false, 0, s.KW, [&](idx kw) __attribute__((always_inline)) {
      const vec wv = ld(w + (kh * s.KW + kw) * VL);
      UNROLL for (idx p = 0; p < wt; p++) {
        if (p * s.SW + kw * s.DW < L || (wt - 1 - p) * s.SW + (s.KW - 1 - kw) * s.DW < R) continue;
        acc[p] += wv * ld(in + off + kh * s.DH * s.W * VL + (p * s.SW + kw * s.DW) * VL);
      }
    });
  }
  UNROLL for (idx p = 0; p < wt; p++) st(out + p * VL, finish(acc[p], s.tail, bias, res + p * VL));
}

}  // namespace k

/// args: in, weights, bias, out, residual. units = N * CB * OH rows, CB channel blocks.
TEMPLATE(k_depthwise, Depthwise, l) {
  using namespace k;
  ROLL for (idx u = u0; u < u1; u++) {
    const idx oh = u % l.OH, plane = u / l.OH, b = plane % l.CB, n = plane / l.CB, y = oh * l.SH - l.PT;
    const idx kh0 = cdiv(imax(-y, 0), l.DH), kh1 = imin(l.KH, cdiv(imax(l.H - y, 0), l.DH));
    const idx row = (b * l.OH + oh) * l.OW * VL;
    float* out = (float*)args[3] + n * l.out_image + row;
    const float* res = (const float*)args[4] + n * l.res_image + row;
    row_tiles(0, l.OW, 0, l.OW, HINT(l, WT), l.SW, l.DW, l.KW, l.W, l.PL, [&](idx t, idx wt, idx L, idx R, bool) __attribute__((always_inline)) {
      const idx first = GENERAL ? t : t * l.WT;
      depthwise_tile(l, wt, L, R, kh0, kh1, (const float*)args[0], ((plane * l.H + y) * l.W + first * l.SW - l.PL) * VL,
                     (const float*)args[1] + b * l.KH * l.KW * VL, (const float*)args[2] + b * VL, res + first * VL, out + first * VL);
    });
  }
}
#endif
