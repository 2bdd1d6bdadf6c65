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
  static constexpr void sizes(auto& l, auto mark) { mark(l.by_rows, l.N, l.in, l.out, l.in_image, l.in_group, l.out_image, l.out_group, l.out_block, l.out_plane, l.out_row, l.res_image); }
  static constexpr void hints(auto& l, auto mark) { mark(l.WT, l.PF, l.ahead); }
  static constexpr bool has_tile = true;
  int64_t by_rows, OCB, WT, ICC, PF;
  Tail tail;
  int64_t IB, N, G, IC, OC;
  Three in, out, kernel, stride, dilation, begin;
  int64_t in_image, in_group, out_image, out_group, out_block, out_plane, out_row, out_pixel, res_image;
  int64_t ahead;  ///< see TileShape in parts/dense.hpp
};

}  // namespace k

#ifdef VW  // the template, which only clang compiles
#include "plugins/llvm_cpu/kernels/parts/dense.hpp"

namespace k {

/// One oc group of OB blocks, output rows [r0, r1), counted over all planes.
INL void conv_group(const Conv& c, idx OB, const float* in, const float* w, const float* bias, const float* res,
                    float* out, idx r0, idx r1) {
  const idx sPix = c.IB == 1 ? 1 : VL, sRow = c.in.w * sPix, sPlane = c.in.h * sRow, sIB = c.in.d * sPlane;
  const idx step = c.kernel.d * c.kernel.h * c.kernel.w * OB * VL;  // weights per input channel
  const idx WT = HINT(c, WT), PF = HINT(c, PF);
  ROLL for (idx c0 = 0; c0 < imax(1, c.IC); c0 += c.ICC) {
    const idx n = imin(c.ICC, c.IC - c0);
    const bool first = c0 == 0, last = c0 + c.ICC >= c.IC;
    const float* wp = w + c0 * step;
    const char* pf = (const char*)(wp + n * step);
    const char* pfe = pf + imin(c.ICC, last ? c.IC : c.IC - c0 - c.ICC) * step * 4;
    ROLL for (idx r = r0; r < r1; r++) {
      const idx od = c.out.d == 1 ? 0 : r / c.out.h, oh = c.out.d == 1 ? r : r % c.out.h;
      const idx z = od * c.stride.d - c.begin.d, y = oh * c.stride.h - c.begin.h;
      const idx kd0 = cdiv(imax(-z, 0), c.dilation.d), kd1 = imin(c.kernel.d, cdiv(imax(c.in.d - z, 0), c.dilation.d));
      const idx kh0 = cdiv(imax(-y, 0), c.dilation.h), kh1 = imin(c.kernel.h, cdiv(imax(c.in.h - y, 0), c.dilation.h));
      row_tiles(c.out.w, WT, c.stride.w, c.dilation.w, c.kernel.w, c.in.w, c.begin.w, [&](idx t, idx wt, idx L, idx R) __attribute__((always_inline)) {
        const TileShape s = {OB, wt, c.kernel.d, c.kernel.h, c.kernel.w, c.stride.w, c.dilation.w, c.dilation.h, c.dilation.d, c.IB, PF, c.tail,
                             sPix, sRow, sPlane, sIB, c.out_block, c.out_pixel, HINT(c, ahead)};
        const idx first_pixel = GENERAL ? t : t * WT, o = od * c.out_plane + oh * c.out_row + first_pixel * c.out_pixel;
        pf = tile(s, L, R, n, kd0, kd1, kh0, kh1, first, last, in,
                  c0 / c.IB * sIB + z * sPlane + y * sRow + (first_pixel * c.stride.w - c.begin.w) * sPix, wp, bias, res + o, out + o, pf,
                  pf < pfe ? 64 : 0);
      });
    }
  }
}

/// oc group g (counted over the convolution's groups) of image n.
INL void conv_part(const Conv& c, void* const* args, idx n, idx g, idx r0, idx r1) {
  const idx nb = cdiv(c.OC, VL), full = nb / c.OCB, per = cdiv(nb, c.OCB), cg = g / per, og = g % per;
  const float* in = (const float*)args[0] + n * c.in_image + cg * c.in_group;
  const float* w = (const float*)args[1] + (cg * nb + og * c.OCB) * VL * c.IC * c.kernel.d * c.kernel.h * c.kernel.w;
  const float* bias = (const float*)args[2] + (cg * nb + og * c.OCB) * VL;
  const idx o = cg * c.out_group + og * c.OCB * c.out_block;
  float* out = (float*)args[3] + n * c.out_image + o;
  const float* res = (const float*)args[4] + n * c.res_image + o;
  if (og < full) conv_group(c, c.OCB, in, w, bias, res, out, r0, r1);
  if (nb % c.OCB && og == full) conv_group(c, nb % c.OCB, in, w, bias, res, out, r0, r1);
}

}  // namespace k

/// args: in, weights, bias, out, residual. by_rows: units = N * OD * OH rows, all groups each; else units = oc groups, all
/// images each, so that every weight is read by one core only.
TEMPLATE(k_conv, Conv, l) {
  using namespace k;
  const Conv c = l;  // copied: through the constant itself LLVM would optimise the parts once more before it inlines them, and differently
  const idx rows = c.out.d * c.out.h, groups = c.G * cdiv(cdiv(c.OC, VL), c.OCB);
#if GENERAL  // both ways by one body
  const idx n0 = c.by_rows ? u0 / rows : 0, n1 = c.by_rows ? cdiv(u1, rows) : c.N, g0 = c.by_rows ? 0 : u0, g1 = c.by_rows ? groups : u1;
  ROLL for (idx i = 0; i < (n1 - n0) * (g1 - g0); i++) {
    const idx n = n0 + (c.by_rows ? i / groups : i % c.N), g = g0 + (c.by_rows ? i % groups : i / c.N);
    conv_part(c, args, n, g, c.by_rows ? imax(u0 - n * rows, 0) : 0, c.by_rows ? imin(u1 - n * rows, rows) : rows);
  }
  return;
#endif
  if (c.by_rows) {
    ROLL for (idx n = u0 / rows; n * rows < u1; n++) ROLL for (idx g = 0; g < groups; g++)
      conv_part(c, args, n, g, imax(u0 - n * rows, 0), imin(u1 - n * rows, rows));
  } else {
    ROLL for (idx g = u0; g < u1; g++) ROLL for (idx n = 0; n < c.N; n++) conv_part(c, args, n, g, 0, rows);
  }
}
#endif
