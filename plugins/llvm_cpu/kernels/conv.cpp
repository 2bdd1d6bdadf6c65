// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: direct convolution in 1 to 3 dimensions: any kernel, stride, dilation, padding, groups, batch.
//
// Activations blocked ([N][C/VL][D][H][W][VL]) or planar (IB = 1). Weights: Pack::Dense with kh = KD * KH. ICC channels per
// chunk (a multiple of IB; weights of a chunk 30-75 KB); partial sums pass through the output.
#include "plugins/llvm_cpu/kernels/dense.hpp"

namespace k {

/// All literal. in* and out* are steps in floats: per image, group, block, plane, row, pixel; res has the steps of out.
struct ConvShape {
  idx OCB, WT, ICC, PF, tail, act;
  float lo, hi;
  idx IB, N, G, IC, D, H, W, OC, OD, OH, OW, KD, KH, KW, SD, SH, SW, DD, DH, DW, PD, PT, PL;
  idx in_image, in_group, out_image, out_group, out_block, out_plane, out_row, out_pixel, res_image;
};

/// One oc group of OB blocks, output rows [r0, r1), counted over all planes.
INL void conv_group(const ConvShape& c, idx OB, const float* in, const float* w, const float* bias, const float* res,
                    float* out, idx r0, idx r1) {
  const idx sPix = c.IB == 1 ? 1 : VL, sRow = c.W * sPix, sPlane = c.H * sRow, sIB = c.D * sPlane;
  const idx step = c.KD * c.KH * c.KW * OB * VL;  // weights per input channel
  ROLL for (idx c0 = 0; c0 < imax(1, c.IC); c0 += c.ICC) {
    const idx n = imin(c.ICC, c.IC - c0);
    const bool first = c0 == 0, last = c0 + c.ICC >= c.IC;
    const float* wp = w + c0 * step;
    const char* pf = (const char*)(wp + n * step);
    const char* pfe = pf + imin(c.ICC, last ? c.IC : c.IC - c0 - c.ICC) * step * 4;
    ROLL for (idx r = r0; r < r1; r++) {
      const idx od = c.OD == 1 ? 0 : r / c.OH, oh = c.OD == 1 ? r : r % c.OH;
      const idx z = od * c.SD - c.PD, y = oh * c.SH - c.PT;
      const idx kd0 = cdiv(imax(-z, 0), c.DD), kd1 = imin(c.KD, cdiv(imax(c.D - z, 0), c.DD));
      const idx kh0 = cdiv(imax(-y, 0), c.DH), kh1 = imin(c.KH, cdiv(imax(c.H - y, 0), c.DH));
      row_tiles(c.OW, c.WT, c.SW, c.DW, c.KW, c.W, c.PL, [&](idx t, idx wt, idx L, idx R) __attribute__((always_inline)) {
        const TileShape s = {OB, wt, c.KD, c.KH, c.KW, c.SW, c.DW, c.DH, c.DD, c.IB, c.PF, c.tail, c.act, c.lo, c.hi,
                             sPix, sRow, sPlane, sIB, c.out_block, c.out_pixel};
        const idx o = od * c.out_plane + oh * c.out_row + t * c.WT * c.out_pixel;
        pf = tile(s, L, R, n, kd0, kd1, kh0, kh1, first, last, in,
                  c0 / c.IB * sIB + z * sPlane + y * sRow + (t * c.WT * c.SW - c.PL) * sPix, wp, bias, res + o, out + o, pf,
                  pf < pfe ? 64 : 0);
      });
    }
  }
}

/// oc group g (counted over the convolution's groups) of image n.
INL void conv_part(const ConvShape& c, void* const* args, idx n, idx g, idx r0, idx r1) {
  const idx nb = cdiv(c.OC, VL), full = nb / c.OCB, per = cdiv(nb, c.OCB), cg = g / per, og = g % per;
  const float* in = (const float*)args[0] + n * c.in_image + cg * c.in_group;
  const float* w = (const float*)args[1] + (cg * nb + og * c.OCB) * VL * c.IC * c.KD * c.KH * c.KW;
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
TEMPLATE(k_conv, int64_t by_rows, int64_t OCB, int64_t WT, int64_t ICC, int64_t PF, int64_t tail, int64_t act, float lo,
         float hi, int64_t IB, int64_t N, int64_t G, int64_t IC, int64_t D, int64_t H, int64_t W, int64_t OC, int64_t OD,
         int64_t OH, int64_t OW, int64_t KD, int64_t KH, int64_t KW, int64_t SD, int64_t SH, int64_t SW, int64_t DD,
         int64_t DH, int64_t DW, int64_t PD, int64_t PT, int64_t PL, int64_t in_image, int64_t in_group, int64_t out_image,
         int64_t out_group, int64_t out_block, int64_t out_plane, int64_t out_row, int64_t out_pixel, int64_t res_image) {
  using namespace k;
  const ConvShape c = {OCB, WT, ICC, PF, tail, act, lo, hi, IB, N, G, IC, D, H, W, OC, OD, OH, OW, KD, KH, KW, SD, SH, SW,
                       DD, DH, DW, PD, PT, PL, in_image, in_group, out_image, out_group, out_block, out_plane, out_row,
                       out_pixel, res_image};
  const idx rows = OD * OH, groups = G * cdiv(cdiv(OC, VL), OCB);
  if (by_rows) {
    ROLL for (idx n = u0 / rows; n * rows < u1; n++) ROLL for (idx g = 0; g < groups; g++)
      conv_part(c, args, n, g, imax(u0 - n * rows, 0), imin(u1 - n * rows, rows));
  } else {
    ROLL for (idx g = u0; g < u1; g++) ROLL for (idx n = 0; n < N; n++) conv_part(c, args, n, g, 0, rows);
  }
}
