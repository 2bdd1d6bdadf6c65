// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: depthwise convolution, blocked, one output channel per input channel. Weights: Pack::Channels.
// No barrier here: each multiply-add needs its own vector load, so sharing loads between taps is the gain.
#include "plugins/llvm_cpu/kernels/dense.hpp"

namespace k {

struct DepthwiseShape {
  idx WT, tail, act;
  float lo, hi;
  idx H, W, OH, OW, KH, KW, SH, SW, DH, DW, PT, PL;
};

INL void depthwise_tile(const DepthwiseShape& s, idx wt, idx L, idx R, idx kh0, idx kh1, const float* in, idx off,
                        const float* w, const float* bias, const float* res, float* out) {
  vec acc[32];
  UNROLL for (idx p = 0; p < wt; p++) acc[p] = s.tail & kBias ? ld(bias) : vec{};
  ROLL for (idx kh = kh0; kh < kh1; kh++) {
    each_tap(s.KW, [&](idx kw) __attribute__((always_inline)) {
      const vec wv = ld(w + (kh * s.KW + kw) * VL);
      UNROLL for (idx p = 0; p < wt; p++) {
        if (p * s.SW + kw * s.DW < L || (wt - 1 - p) * s.SW + (s.KW - 1 - kw) * s.DW < R) continue;
        acc[p] += wv * ld(in + off + kh * s.DH * s.W * VL + (p * s.SW + kw * s.DW) * VL);
      }
    });
  }
  UNROLL for (idx p = 0; p < wt; p++) st(out + p * VL, finish(acc[p], s.tail, s.act, s.lo, s.hi, res + p * VL));
}

}  // namespace k

/// args: in, weights, bias, out, residual. units = N * CB * OH rows, CB channel blocks.
TEMPLATE(k_depthwise, int64_t WT, int64_t tail, int64_t act, float lo, float hi, int64_t CB, int64_t H, int64_t W, int64_t OH,
         int64_t OW, int64_t KH, int64_t KW, int64_t SH, int64_t SW, int64_t DH, int64_t DW, int64_t PT, int64_t PL,
         int64_t out_image, int64_t res_image) {
  using namespace k;
  const DepthwiseShape s = {WT, tail, act, lo, hi, H, W, OH, OW, KH, KW, SH, SW, DH, DW, PT, PL};
  ROLL for (idx u = u0; u < u1; u++) {
    const idx oh = u % OH, plane = u / OH, b = plane % CB, n = plane / CB, y = oh * SH - PT;
    const idx kh0 = cdiv(imax(-y, 0), DH), kh1 = imin(KH, cdiv(imax(H - y, 0), DH));
    const idx row = (b * OH + oh) * OW * VL;
    float* out = (float*)args[3] + n * out_image + row;
    const float* res = (const float*)args[4] + n * res_image + row;
    row_tiles(OW, WT, SW, DW, KW, W, PL, [&](idx t, idx wt, idx L, idx R) __attribute__((always_inline)) {
      depthwise_tile(s, wt, L, R, kh0, kh1, (const float*)args[0], ((plane * H + y) * W + t * WT * SW - PL) * VL,
                     (const float*)args[1] + b * KH * KW * VL, (const float*)args[2] + b * VL, res + t * WT * VL,
                     out + t * WT * VL);
    });
  }
}
