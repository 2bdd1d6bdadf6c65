// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: pooling of [N*C][D][H][W] with any window, stride, dilation and padding. The general case; blocked
// layouts have a fast one of their own.
#pragma once
#include "plugins/llvm_cpu/kernels/pool.hpp"

namespace k {

struct PoolPlain {
  static constexpr char entry[] = "k_pool_plain";
  static constexpr void sizes(auto& l, auto mark) { mark(l.in, l.out, l.begin, l.end); }
  PoolMode mode;
  int64_t p, has_indices;
  Three in, out, kernel, stride, dilation, begin, end;
};

}  // namespace k

#ifdef VW  // the template, which only clang compiles
#include "plugins/llvm_cpu/kernels/parts/lanes.hpp"
#include "plugins/llvm_cpu/kernels/parts/math.hpp"

namespace k::pool_plain {

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

// args: in, out, indices (int64, into [N*C][D][H][W]; or null when has_indices is 0); units: N*C * out.d * out.h. Windows without an
// element of the image give -infinity (Max) or 0. NaN wins in maxima; the index is that of the first one.
TEMPLATE(k_pool_plain, PoolPlain, l) {
  using namespace k;
  using namespace k::pool_plain;
  const Axis Z{l.in.d, l.kernel.d, l.stride.d, l.dilation.d, l.begin.d, l.end.d};
  const Axis Y{l.in.h, l.kernel.h, l.stride.h, l.dilation.h, l.begin.h, l.end.h};
  const Axis X{l.in.w, l.kernel.w, l.stride.w, l.dilation.w, l.begin.w, l.end.w};
  ROLL for (idx u = u0; u < u1; u++) {
    const idx y = u % l.out.h, z = u / l.out.h % l.out.d, image = u / (l.out.h * l.out.d) * l.in.d * l.in.h * l.in.w;
    const idx z0 = Z.lo(z), z1 = Z.hi(z), y0 = Y.lo(y), y1 = Y.hi(y);
    ROLL for (idx x = 0; x < l.out.w; x++) {
      const idx x0 = X.lo(x), x1 = X.hi(x);
      float v = l.mode == PoolMode::Max ? -kInf : 0;
      const auto place = [&](idx a, idx b, idx c) __attribute__((always_inline)) {
        return image + ((Z.start(z) + a * l.dilation.d) * l.in.h + Y.start(y) + b * l.dilation.h) * l.in.w + X.start(x) + c * l.dilation.w;
      };
      int64_t at = z0 < z1 && y0 < y1 && x0 < x1 ? place(z0, y0, x0) : image;
      ROLL for (idx a = z0; a < z1; a++) ROLL for (idx b = y0; b < y1; b++) ROLL for (idx c = x0; c < x1; c++) {
        const idx i = place(a, b, c);
        const float e = ((const float*)args[0])[i];
        if (l.mode == PoolMode::Max) {
          const int32_t is_larger = (e > v) | ((e != e) & (v == v));  // as larger() has it, without a branch, which nobody foresees
          v = is_larger ? e : v, at = is_larger ? i : at;
        } else {
          v += l.mode == PoolMode::Lp ? power(e, l.p) : e;
        }
      }
      const idx taps = l.mode == PoolMode::Average ? (z1 - z0) * (y1 - y0) * (x1 - x0) : Z.inside(z) * Y.inside(y) * X.inside(x);
      if (l.mode == PoolMode::Average || l.mode == PoolMode::AverageWithPad) v = taps > 0 ? v / (float)taps : 0.f;
      if (l.mode == PoolMode::Lp && l.p > 1) v = l.p == 2 ? __builtin_elementwise_sqrt(v) : vpow(splat(v), splat(1.f / (float)l.p))[0];
      ((float*)args[1])[u * l.out.w + x] = v;
      if (l.has_indices) ((int64_t*)args[2])[u * l.out.w + x] = at;
    }
  }
}
#endif
