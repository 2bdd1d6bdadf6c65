// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: 1x1 convolution with stride 1 = matrix product over P pixels in one flat row; and matrix x vector.
#include "plugins/llvm_cpu/kernels/pointwise.hpp"

/// args: in, weights (Pack::Dense), bias, out, residual. by_tiles: units = N * ceil(P / WT) tiles of pixels, else oc groups
/// (all images each). TB: tiles per block; large = a weight panel serves all pixels before the next one (weights come from
/// memory once), small = pixels stay in L1 while all panels pass (few weights).
TEMPLATE(k_pointwise, int64_t by_tiles, int64_t OCB, int64_t WT, int64_t ICC, int64_t TB, int64_t PF, int64_t tail,
         int64_t act, float lo, float hi, int64_t N, int64_t IC, int64_t P, int64_t OC, int64_t in_image, int64_t out_image,
         int64_t res_image) {
  using namespace k;
  const idx tiles = cdiv(P, WT), groups = cdiv(cdiv(OC, VL), OCB);
  const PointwiseShape s = {OCB, WT, ICC, TB, PF, tail, act, lo, hi, IC, P, P, OC};
  auto image = [&](idx n, idx g0, idx g1, idx t0, idx t1) __attribute__((always_inline)) {
    pointwise(s, (const float*)args[0] + n * in_image, (const float*)args[1], (const float*)args[2],
              (const float*)args[4] + n * res_image, (float*)args[3] + n * out_image, (const float*)args[1], g0, g1, t0, t1);
  };
  if (by_tiles) {
    ROLL for (idx n = u0 / tiles; n * tiles < u1; n++)
      image(n, 0, groups, imax(u0 - n * tiles, 0), imin(u1 - n * tiles, tiles));
  } else {
    ROLL for (idx n = 0; n < N; n++) image(n, u0, u1, 0, tiles);
  }
}

/// Fully connected with one input row: args x, weights (Pack::Dense), bias, out, residual; units = oc groups. Each group
/// prefetches AHEAD bytes of its own stream. out is plain: the last vector is cut at N outputs.
TEMPLATE(k_gemv, int64_t OCB, int64_t AHEAD, int64_t tail, int64_t act, float lo, float hi, int64_t K, int64_t N) {
  using namespace k;
  const idx nb = cdiv(N, VL), full = N / VL / OCB;
  auto group = [&](idx g, idx OB) __attribute__((always_inline)) {
    const idx o = g * OCB * VL;
    const float* w = (const float*)args[1] + o * K;
    const TileShape t = {OB, 1, 1, 1, 1, 1, 1, 1, 1, VL, OB, tail & kBias, kNone, lo, hi, VL, 0, 0, VL, VL, VL};
    float sums[8 * VL];
    tile(t, 0, 0, K, 0, 1, 0, 1, true, true, (const float*)args[0], 0, w, (const float*)args[2] + o, nullptr, sums,
         (const char*)w + AHEAD, VL * 4);
    const float* res = (const float*)args[4] + o;
    float* out = (float*)args[3] + o;
    UNROLL for (idx b = 0; b < OB; b++) {
      if (o + (b + 1) * VL <= N) st(out + b * VL, finish(ld(sums + b * VL), tail, act, lo, hi, res + b * VL));
      else {
        float r[VL] = {};
        if (tail & (kResidual | kResidualAfter)) ROLL for (idx l = 0; l < N - o - b * VL; l++) r[l] = res[b * VL + l];
        const vec v = finish(ld(sums + b * VL), tail, act, lo, hi, r);
        ROLL for (idx l = 0; l < N - o - b * VL; l++) out[b * VL + l] = v[l];
      }
    }
  };
  ROLL for (idx g = u0; g < imin(u1, full); g++) group(g, OCB);
  if (nb > full * OCB && u1 > full) group(full, nb - full * OCB);
}
