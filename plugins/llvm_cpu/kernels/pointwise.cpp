// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: 1x1 convolution with stride 1 = matrix product over P pixels in one flat row.
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
