// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: pooling of [N*C][D][H][W] with any window, stride, dilation and padding. The general case; blocked
// layouts have a fast one of their own.
#include "plugins/llvm_cpu/kernels/lanes.hpp"
#include "plugins/llvm_cpu/kernels/math.hpp"

namespace k::pool_plain {

enum { Max, Average, AverageWithPad, Lp };
struct Axis {
  idx size, window, step, dilation, pad, pad_end;
  METHOD idx start(idx o) const { return o * step - pad; }
  METHOD idx lo(idx o) const { return start(o) < 0 ? cdiv(-start(o), dilation) : 0; }
  METHOD idx hi(idx o) const { return imin(window, cdiv(imax(0, size - start(o)), dilation)); }
  METHOD idx inside(idx o) const {  // taps on the image or its padding
    return imin(window, cdiv(imax(0, size + pad_end - start(o)), dilation));
  }
};
INL float power(float v, int64_t p) {
  const float a = v < 0 ? -v : v;
  return p == 1 ? a : p == 2 ? v * v : vpow(splat(a), splat((float)p))[0];
}

}  // namespace k::pool_plain

// args: in, out, indices (int64, into [N*C][D][H][W]; or null when has_indices is 0); units: N*C * od * oh. Windows without an
// element of the image give -infinity (Max) or 0. NaN wins in maxima; the index is that of the first one.
TEMPLATE(k_pool_plain, int64_t mode, int64_t p, int64_t has_indices, int64_t d, int64_t h, int64_t w, int64_t od, int64_t oh,
         int64_t ow, int64_t kd, int64_t kh, int64_t kw, int64_t sd, int64_t sh, int64_t sw, int64_t dd, int64_t dh,
         int64_t dw, int64_t pd, int64_t ph, int64_t pw, int64_t qd, int64_t qh, int64_t qw) {
  using namespace k;
  using namespace k::pool_plain;
  const Axis Z{d, kd, sd, dd, pd, qd}, Y{h, kh, sh, dh, ph, qh}, X{w, kw, sw, dw, pw, qw};
  ROLL for (idx u = u0; u < u1; u++) {
    const idx y = u % oh, z = u / oh % od, image = u / (oh * od) * d * h * w;
    const idx z0 = Z.lo(z), z1 = Z.hi(z), y0 = Y.lo(y), y1 = Y.hi(y);
    ROLL for (idx x = 0; x < ow; x++) {
      const idx x0 = X.lo(x), x1 = X.hi(x);
      float v = mode == Max ? -kInf : 0;
      int64_t at = 0;
      ROLL for (idx a = z0; a < z1; a++) ROLL for (idx b = y0; b < y1; b++) ROLL for (idx c = x0; c < x1; c++) {
        const idx i = image + ((Z.start(z) + a * dd) * h + Y.start(y) + b * dh) * w + X.start(x) + c * dw;
        const float e = ((const float*)args[0])[i];
        if (mode == Max) {
          if (larger(e, v) || (a == z0 && b == y0 && c == x0)) v = e, at = i;
        } else {
          v += mode == Lp ? power(e, p) : e;
        }
      }
      const idx taps = mode == Average ? (z1 - z0) * (y1 - y0) * (x1 - x0) : Z.inside(z) * Y.inside(y) * X.inside(x);
      if (mode == Average || mode == AverageWithPad) v = taps > 0 ? v / (float)taps : 0.f;
      if (mode == Lp && p > 1) v = p == 2 ? __builtin_elementwise_sqrt(v) : vpow(splat(v), splat(1.f / (float)p))[0];
      ((float*)args[1])[u * ow + x] = v;
      if (has_indices) ((int64_t*)args[2])[u * ow + x] = at;
    }
  }
}
