// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: 1x1 convolution with stride 1 = matrix product over P pixels in one flat row.
#pragma once
#include "plugins/llvm_cpu/kernels/parts/tail.hpp"

namespace k {

/// General kernels take the pixels of all images as one row where an image has fewer (parts/spots.hpp).
constexpr int64_t kFewPixels = 64;

struct Pointwise {
  static constexpr char entry[] = "k_pointwise";
  static constexpr void sizes(auto& l, auto mark) { mark(l.by_tiles, l.TB, l.N, l.P, l.in_image, l.out_image, l.res_image); }
  static constexpr void hints(auto& l, auto mark) { mark(l.WT, l.PF, l.ahead); }
  static constexpr bool has_tile = true;
  int64_t by_tiles, OCB, WT, ICC, TB, PF;
  Tail tail;
  int64_t N, IC, P, OC, in_image, out_image, res_image;
  int64_t ahead;  ///< see TileShape in parts/dense.hpp
};

}  // namespace k

#ifdef VW  // the template, which only clang compiles
#include "plugins/llvm_cpu/kernels/parts/product.hpp"
#include "plugins/llvm_cpu/kernels/parts/spots.hpp"

#if GENERAL
namespace k {

/// Pixels [p0, p1), counted over images, of oc groups [g0, g1).
INL void pointwise_spots(const Pointwise& l, void* const* args, idx g0, idx g1, idx p0, idx p1) {
  const idx nb = cdiv(l.OC, VL), full = nb / l.OCB, block = l.P * VL;
  const auto each = [&](auto f) __attribute__((always_inline)) {
    ROLL for (idx p = p0; p < p1; p++) f(p / l.P * l.in_image + p % l.P * VL, p / l.P * l.out_image + p % l.P * VL, p / l.P * l.res_image + p % l.P * VL);
  };
  const auto group = [&](idx g, idx OB) __attribute__((always_inline)) {
    const float *bias = (const float*)args[2] + g * l.OCB * VL, *res = (const float*)args[4] + g * l.OCB * block;
    float* out = (float*)args[3] + g * l.OCB * block;
    const SpotsTap t = {OB, l.IC, block, 0, OB * VL, OB * VL * VL, (const float*)args[1] + g * l.OCB * VL * l.IC, false};
    spots_tiles(HINT(l, WT), each, [&](idx width, const Spots& at, bool first) __attribute__((always_inline)) {
      spots_tile(t, width, (const float*)args[0], at, first, [&](idx o, idx) __attribute__((always_inline)) { return l.tail.bits & kBias ? ld(bias + o * VL) : vec{}; },
                 [&](idx o, idx p, vec v) __attribute__((always_inline)) { st(out + at.out[p] + o * block, finish(v, l.tail, bias + o * VL, res + at.residual[p] + o * block)); });
    });
  };
  ROLL for (idx g = g0; g < imin(g1, full); g++) group(g, l.OCB);
  if (nb % l.OCB && g1 > full) group(full, nb % l.OCB);
}

}  // namespace k
#endif

/// args: in, weights (Pack::Dense), bias, out, residual. by_tiles: units = N * ceil(P / WT) tiles of pixels, else oc groups
/// (all images each). TB: tiles per block, over which all panels of weights pass before the next block: pixels of L1 where weights
/// are few, of L2 where they are many, all of an image whose weights come from memory and are read once.
TEMPLATE(k_pointwise, Pointwise, l) {
  using namespace k;
  const idx tiles = cdiv(l.P, l.WT), groups = cdiv(cdiv(l.OC, VL), l.OCB);
  const PointwiseShape s = {l.OCB, HINT(l, WT), l.ICC, GENERAL ? l.TB * l.WT : l.TB, HINT(l, PF), l.tail, l.IC, l.P, l.P, l.OC, HINT(l, ahead)};
  auto image = [&](idx n, idx g0, idx g1, idx t0, idx t1) __attribute__((always_inline)) {
    pointwise(s, (const float*)args[0] + n * l.in_image, (const float*)args[1], (const float*)args[2],
              (const float*)args[4] + n * l.res_image, (float*)args[3] + n * l.out_image, (const float*)args[1], g0, g1, t0, t1);
  };
#if GENERAL  // both ways by one body; a unit's pixels are as many as the plan has in a tile, whatever this kernel's tiles are
  if (l.P < kFewPixels) {
    const auto pixel = [&](idx unit) __attribute__((always_inline)) { return unit / tiles * l.P + unit % tiles * l.WT; };
    return pointwise_spots(l, args, l.by_tiles ? 0 : u0, l.by_tiles ? groups : u1, l.by_tiles ? pixel(u0) : 0, l.by_tiles ? pixel(u1) : l.N * l.P);
  }
  const idx n0 = l.by_tiles ? u0 / tiles : 0, n1 = l.by_tiles ? cdiv(u1, tiles) : l.N;
  ROLL for (idx n = n0; n < n1; n++) {
    const idx t0 = l.by_tiles ? imax(u0 - n * tiles, 0) : 0, t1 = l.by_tiles ? imin(u1 - n * tiles, tiles) : tiles;
    image(n, l.by_tiles ? 0 : u0, l.by_tiles ? groups : u1, t0 * l.WT, imin(l.P, t1 * l.WT));
  }
  return;
#endif
  if (l.by_tiles) {
    ROLL for (idx n = u0 / tiles; n * tiles < u1; n++)
      image(n, 0, groups, imax(u0 - n * tiles, 0), imin(u1 - n * tiles, tiles));
  } else {
    ROLL for (idx n = 0; n < l.N; n++) image(n, u0, u1, 0, tiles);
  }
}
#endif
