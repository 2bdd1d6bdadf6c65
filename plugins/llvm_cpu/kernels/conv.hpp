// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: direct convolution in 1 to 3 dimensions: any kernel, stride, dilation, padding, groups, batch.
//
// Activations blocked ([N][C/VL][D][H][W][VL]) or planar (IB = 1). Weights: Pack::Dense with kh = KD * KH. ICC channels per
// chunk (a multiple of IB; weights of a chunk 30-75 KB); partial sums pass through the output.
#pragma once
#include "plugins/llvm_cpu/kernels/parts/tail.hpp"

namespace k {

/// in_ and out_: steps in floats, per image, group, block, plane, row, pixel; the residual has those of the output but for the image's.
struct Conv {
  static constexpr char entry[] = "k_conv";
  static constexpr void sizes(auto& l, auto mark) { mark(l.by_rows, l.tiled_from, l.tiled_to, l.piece, l.block, l.N, l.in, l.out, l.in_image, l.in_group, l.out_image, l.out_group, l.out_block, l.out_plane, l.out_row, l.res_image); }
  static constexpr void hints(auto& l, auto mark) { mark(l.WT, l.PF, l.ahead, l.far); }
  static constexpr bool has_tile = true;
  int64_t by_rows;
  int64_t tiled_from, tiled_to;  ///< tiles lie along rows in these output columns; the others' have pixels of any rows (parts/spots.hpp; blocked input only), and where there are none, of any images
  int64_t piece;  ///< pixels of a row that are one unit of by_rows: out.w, or of longer rows whole tiles
  int64_t block;  ///< such pieces of an image, of all images where no columns are tiled, over which all weights pass before the next ones
  int64_t OCB, WT, ICC, PF;
  Tail tail;
  int64_t IB, N, G, IC, OC;
  Three in, out, kernel, stride, dilation, begin;
  int64_t in_image, in_group, out_image, out_group, out_block, out_plane, out_row, out_pixel, res_image;
  int64_t ahead;  ///< see TileShape in parts/dense.hpp
  int64_t far;    ///< of pixels of any rows: weights come from memory
};

}  // namespace k

#ifdef VW  // the template, which only clang compiles
#include "plugins/llvm_cpu/kernels/parts/dense.hpp"
#include "plugins/llvm_cpu/kernels/parts/spots.hpp"

namespace k {

/// The next column that is not tiled.
INL idx beside_tiles(const Conv& c, idx x) { return x >= c.tiled_from && x < c.tiled_to ? c.tiled_to : x; }

/// f(input, output, 0) of each pixel beside tiled columns of rows [r0, r1), counted over images, for which the tap lies on the input.
template <class F>
INL void each_pixel(const Conv& c, Three tap, idx r0, idx r1, F f) {
  const idx rows = c.out.d * c.out.h, sRow = c.in.w * VL, x0 = tap.w * c.dilation.w - c.begin.w;
  const idx first = cdiv(imax(0, -x0), c.stride.w), end = x0 >= c.in.w ? 0 : imin(c.out.w, (c.in.w - 1 - x0) / c.stride.w + 1);
  ROLL for (idx row = r0; row < r1; row++) {
    const idx n = row / rows, r = row % rows, od = c.out.d == 1 ? 0 : r / c.out.h, oh = c.out.d == 1 ? r : r % c.out.h;
    const idx z = od * c.stride.d - c.begin.d + tap.d * c.dilation.d, y = oh * c.stride.h - c.begin.h + tap.h * c.dilation.h;
    if (z < 0 || z >= c.in.d || y < 0 || y >= c.in.h) continue;
    const idx in = n * c.in_image + (z * c.in.h + y) * sRow + x0 * VL, out = n * c.out_image + od * c.out_plane + oh * c.out_row;
    ROLL for (idx x = beside_tiles(c, first); x < end; x = beside_tiles(c, x + 1)) f(in + x * c.stride.w * VL, out + x * c.out_pixel, idx(0));
  }
}

/// f(output, residual, block) of each vector beside tiled columns of a group of OB blocks, rows [r0, r1), counted over images.
template <class F>
INL void each_vector(const Conv& c, idx OB, idx r0, idx r1, F f) {
  const idx rows = c.out.d * c.out.h;
  ROLL for (idx row = r0; row < r1; row++) {
    const idx n = row / rows, r = row % rows, od = c.out.d == 1 ? 0 : r / c.out.h, oh = c.out.d == 1 ? r : r % c.out.h;
    ROLL for (idx x = beside_tiles(c, 0); x < c.out.w; x = beside_tiles(c, x + 1)) UNROLL for (idx b = 0; b < OB; b++) {
      const idx at = od * c.out_plane + oh * c.out_row + x * c.out_pixel + b * c.out_block;
      f(n * c.out_image + at, n * c.res_image + at, b);
    }
  }
}

/// One oc group of OB blocks beside tiled columns, rows [r0, r1), counted over images; blocked input. See parts/spots.hpp.
INL void conv_spots(const Conv& c, idx OB, const float* in, const float* w, const float* bias, const float* res, float* out, idx r0, idx r1) {
  const idx step = c.kernel.w * OB * VL;
  each_vector(c, OB, r0, r1, [&](idx to, idx, idx b) __attribute__((always_inline)) { st(out + to, c.tail.bits & kBias ? ld(bias + b * VL) : vec{}); });
  ROLL for (idx d = 0; d < c.kernel.d; d++) ROLL for (idx h = 0; h < c.kernel.h; h++) ROLL for (idx x = 0; x < c.kernel.w; x++) {
    const SpotsTap t = {OB, c.IC, c.in.d * c.in.h * c.in.w * VL, (d * c.kernel.h + h) * step, step, c.kernel.d * c.kernel.h * step * VL, w + x * OB * VL, HINT(c, far) != 0};
    const auto each = [&](auto f) __attribute__((always_inline)) { each_pixel(c, {d, h, x}, r0, r1, f); };
    spots_tiles(HINT(c, WT), each, [&](idx width, const Spots& at, bool first) __attribute__((always_inline)) {
      spots_tile(t, width, in, at, first, [&](idx o, idx p) __attribute__((always_inline)) { return ld(out + at.out[p] + o * c.out_block); },
                 [&](idx o, idx p, vec v) __attribute__((always_inline)) { st(out + at.out[p] + o * c.out_block, v); });
    });
  }
  each_vector(c, OB, r0, r1, [&](idx to, idx from, idx b) __attribute__((always_inline)) { st(out + to, finish(ld(out + to), c.tail, bias + b * VL, res + from)); });
}

/// One oc group of OB blocks in tiled columns, pieces [r0, r1) of output rows, counted over all planes.
INL void conv_group(const Conv& c, idx OB, const float* in, const float* w, const float* bias, const float* res,
                    float* out, idx r0, idx r1) {
  const idx sPix = c.IB == 1 ? 1 : VL, sRow = c.in.w * sPix, sPlane = c.in.h * sRow, sIB = c.in.d * sPlane;
  const idx step = c.kernel.d * c.kernel.h * c.kernel.w * OB * VL;  // weights per input channel
  const idx WT = HINT(c, WT), PF = HINT(c, PF), columns = c.tiled_to - c.tiled_from;
  ROLL for (idx c0 = 0; c0 < imax(1, c.IC); c0 += c.ICC) {
    const idx n = imin(c.ICC, c.IC - c0);
    const bool first = c0 == 0, last = c0 + c.ICC >= c.IC;
    const float* wp = w + c0 * step;
    const char* pf = (const char*)(wp + n * step);
    const char* pfe = pf + imin(c.ICC, last ? c.IC : c.IC - c0 - c.ICC) * step * 4;
    ROLL for (idx part = r0; part < r1; part++) {
      const idx pieces = cdiv(columns, c.piece), r = part / pieces, from = part % pieces * c.piece;
      const idx od = c.out.d == 1 ? 0 : r / c.out.h, oh = c.out.d == 1 ? r : r % c.out.h;
      const idx z = od * c.stride.d - c.begin.d, y = oh * c.stride.h - c.begin.h;
      const idx kd0 = cdiv(imax(-z, 0), c.dilation.d), kd1 = imin(c.kernel.d, cdiv(imax(c.in.d - z, 0), c.dilation.d));
      const idx kh0 = cdiv(imax(-y, 0), c.dilation.h), kh1 = imin(c.kernel.h, cdiv(imax(c.in.h - y, 0), c.dilation.h));
      row_tiles(from, imin(from + c.piece, columns), c.tiled_from, columns, WT, c.stride.w, c.dilation.w, c.kernel.w, c.in.w, c.begin.w, [&](idx t, idx wt, idx L, idx R, bool looped) __attribute__((always_inline)) {
        const TileShape s = {OB, wt, c.kernel.d, c.kernel.h, c.kernel.w, c.stride.w, c.dilation.w, c.dilation.h, c.dilation.d, c.IB, PF, c.tail,
                             sPix, sRow, sPlane, sIB, c.out_block, c.out_pixel, looped, HINT(c, ahead)};
        const idx first_pixel = c.tiled_from + (GENERAL ? t : t * WT), o = od * c.out_plane + oh * c.out_row + first_pixel * c.out_pixel;
        pf = tile(s, L, R, n, kd0, kd1, kh0, kh1, first, last, in,
                  c0 / c.IB * sIB + z * sPlane + y * sRow + (first_pixel * c.stride.w - c.begin.w) * sPix, wp, bias, res + o, out + o, pf,
                  pf < pfe ? 64 : 0);
      });
    }
  }
}

/// oc group g (counted over the convolution's groups) of image n; where no columns are tiled, of rows that are counted over images from the first one.
INL void conv_part(const Conv& c, void* const* args, idx n, idx g, idx r0, idx r1) {
  const idx nb = cdiv(c.OC, VL), full = nb / c.OCB, per = cdiv(nb, c.OCB), cg = g / per, og = g % per;
  const float* in = (const float*)args[0] + n * c.in_image + cg * c.in_group;
  const float* w = (const float*)args[1] + (cg * nb + og * c.OCB) * VL * c.IC * c.kernel.d * c.kernel.h * c.kernel.w;
  const float* bias = (const float*)args[2] + (cg * nb + og * c.OCB) * VL;
  const idx o = cg * c.out_group + og * c.OCB * c.out_block;
  float* out = (float*)args[3] + n * c.out_image + o;
  const float* res = (const float*)args[4] + n * c.res_image + o;
  const auto group = [&](idx OB) __attribute__((always_inline)) {
    if (c.tiled_to > c.tiled_from) conv_group(c, OB, in, w, bias, res, out, r0, r1);
    if (c.IB == VL && c.tiled_to - c.tiled_from < c.out.w) conv_spots(c, OB, in, w, bias, res, out, r0, r1);
  };
  if (og < full) group(c.OCB);
  if (nb % c.OCB && og == full) group(nb % c.OCB);
}

}  // namespace k

/// args: in, weights, bias, out, residual. by_rows: units = N * OD * OH rows, or pieces of them, all groups each; else units = oc groups, all
/// images each, so that every weight is read by one core only.
TEMPLATE(k_conv, Conv, l) {
  using namespace k;
  const Conv c = l;  // copied: through the constant itself LLVM would optimise the parts once more before it inlines them, and differently
  const idx groups = c.G * cdiv(cdiv(c.OC, VL), c.OCB);
  // Where no columns are tiled all images are one.
  const bool tiled = c.tiled_to > c.tiled_from;
  const idx images = tiled ? c.N : 1, pieces = (tiled ? 1 : c.N) * c.out.d * c.out.h * cdiv(c.out.w, c.piece), blocks = c.by_rows ? cdiv(pieces, c.block) : 1;
  const auto block_of = [&](idx unit) __attribute__((always_inline)) { return unit / pieces * blocks + unit % pieces / c.block; };
  const auto part = [&](idx b, idx g) __attribute__((always_inline)) {
    const idx n = b / blocks, first = b % blocks * c.block;
    conv_part(c, args, n, g, c.by_rows ? imax(u0 - n * pieces, first) : 0, c.by_rows ? imin(imin(u1 - n * pieces, pieces), first + c.block) : pieces);
  };
#if GENERAL  // both ways by one body
  const idx b0 = c.by_rows ? block_of(u0) : 0, b1 = c.by_rows ? block_of(u1 - 1) + 1 : images, g0 = c.by_rows ? 0 : u0, g1 = c.by_rows ? groups : u1;
  ROLL for (idx i = 0; i < (b1 - b0) * (g1 - g0); i++) part(b0 + (c.by_rows ? i / groups : i % images), g0 + (c.by_rows ? i % groups : i / images));
  return;
#endif
  if (c.by_rows) {
    ROLL for (idx b = block_of(u0); b <= block_of(u1 - 1); b++) ROLL for (idx g = 0; g < groups; g++) part(b, g);
  } else {
    ROLL for (idx g = u0; g < u1; g++) ROLL for (idx n = 0; n < images; n++) part(n, g);
  }
}
#endif
