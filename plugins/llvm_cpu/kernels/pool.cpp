// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: pooling of blocked activations in 1 to 3 dimensions, and the passage between plain and blocked.
#include "plugins/llvm_cpu/kernels/activation.hpp"
#include "plugins/llvm_cpu/kernels/lanes.hpp"

namespace k {

/// NaN wins in maxima. One output pixel: window [z0,z1) x [y0,y1) x columns of the plane at p. mode 0 max, 1 average of the taps inside,
/// 2 average of KD*KH*KW taps.
INL vec pool_window(idx mode, const float* p, idx sPlane, idx sRow, idx sPix, idx nz, idx ny, idx nx, float scale) {
  vec v = splat(mode ? 0.f : -__builtin_inff());
  ROLL for (idx z = 0; z < nz; z++) ROLL for (idx y = 0; y < ny; y++) {
    const float* row = p + z * sPlane + y * sRow;
    ROLL for (idx x = 0; x < nx; x++) {
      const vec a = ld(row + x * sPix);
      v = mode ? v + a : nan_max(v, a);
    }
  }
  return mode ? v * scale : v;
}

}  // namespace k

/// args: in, out. units = planes * OD * OH rows, planes = N * channel blocks; DH, DW... dilations of max pooling.
TEMPLATE(k_pool, int64_t mode, int64_t D, int64_t H, int64_t W, int64_t OD, int64_t OH, int64_t OW, int64_t KD, int64_t KH,
         int64_t KW, int64_t SD, int64_t SH, int64_t SW, int64_t DD, int64_t DH, int64_t DW, int64_t PD, int64_t PT,
         int64_t PL, int64_t CB, int64_t out_image) {
  using namespace k;
  ROLL for (idx u = u0; u < u1; u++) {
    const idx oh = u % OH, od = u / OH % OD, plane = u / OH / OD;
    const idx z = od * SD - PD, y = oh * SH - PT;
    const idx a0 = cdiv(imax(-z, 0), DD), a1 = imin(KD, cdiv(imax(D - z, 0), DD));
    const idx b0 = cdiv(imax(-y, 0), DH), b1 = imin(KH, cdiv(imax(H - y, 0), DH));
    const float* in = (const float*)args[0] + plane * D * H * W * VL + ((z + a0 * DD) * H + y + b0 * DH) * W * VL;
    float* out = (float*)args[1] + plane / CB * out_image + ((plane % CB * OD + od) * OH + oh) * OW * VL;
    auto pixel = [&](idx ow, bool inner) __attribute__((always_inline)) {
      const idx x = ow * SW - PL, c0 = inner ? 0 : cdiv(imax(-x, 0), DW), c1 = inner ? KW : imin(KW, cdiv(imax(W - x, 0), DW));
      const idx taps = (a1 - a0) * (b1 - b0) * (c1 - c0);
      const float scale = mode == 2 ? 1.f / (float)(KD * KH * KW) : 1.f / (float)taps;
      st(out + ow * VL, pool_window(mode, in + (x + c0 * DW) * VL, DD * H * W * VL, DH * W * VL, DW * VL, a1 - a0, b1 - b0,
                                    inner ? KW : c1 - c0, scale));
    };
    const idx span = W - 1 + PL - (KW - 1) * DW;
    const idx l = imin(OW, cdiv(PL, SW)), r = imax(l, imin(OW, span < 0 ? 0 : span / SW + 1));
    ROLL for (idx ow = 0; ow < l; ow++) pixel(ow, false);
    ROLL for (idx ow = l; ow < r; ow++) pixel(ow, true);
    ROLL for (idx ow = r; ow < OW; ow++) pixel(ow, false);
  }
}

/// args: in [planes][P][VL], out [planes][VL]. units = planes. mode 0 max, 1 average.
TEMPLATE(k_global_pool, int64_t mode, int64_t P) {
  using namespace k;
  ROLL for (idx b = u0; b < u1; b++) {
    const float* p = (const float*)args[0] + b * P * VL;
    vec s[4];
    UNROLL for (idx j = 0; j < 4; j++) s[j] = splat(mode ? 0.f : -__builtin_inff());
    auto add = [&](idx j, idx i) __attribute__((always_inline)) {
      const vec a = ld(p + i * VL);
      s[j] = mode ? s[j] + a : nan_max(s[j], a);
    };
    idx i = 0;
    ROLL for (; i + 4 <= P; i += 4) UNROLL for (idx j = 0; j < 4; j++) add(j, i + j);
    ROLL for (; i < P; i++) add(0, i);
    const vec v = mode ? ((s[0] + s[1]) + (s[2] + s[3])) * (1.f / (float)P) : nan_max(nan_max(s[0], s[1]), nan_max(s[2], s[3]));
    st((float*)args[1] + b * VL, v);
  }
}
