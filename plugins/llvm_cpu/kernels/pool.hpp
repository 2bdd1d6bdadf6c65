// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: pooling of blocked activations in 1 to 3 dimensions, and the passage between plain and blocked.
#pragma once
#include "plugins/llvm_cpu/kernels/parts/pool_mode.hpp"

namespace k {

/// Of a blocked tensor.
struct Pool {
  static constexpr char entry[] = "k_pool";
  static constexpr void sizes(auto& l, auto mark) { mark(l.in, l.out, l.begin, l.blocks, l.out_image); }
  PoolMode mode;
  Three in, out, kernel, stride, dilation, begin;
  int64_t blocks, out_image;
};
struct GlobalPool {
  static constexpr char entry[] = "k_global_pool";
  static constexpr void sizes(auto& l, auto mark) { mark(l.P); }
  PoolMode mode;
  int64_t P;
};

}  // namespace k

#ifdef VW  // the template, which only clang compiles
#include "plugins/llvm_cpu/kernels/parts/activation.hpp"
#include "plugins/llvm_cpu/kernels/parts/lanes.hpp"

namespace k {

/// NaN wins in maxima. One output pixel: nz * ny * nx taps of the plane from p on; averages are sums times scale. fetch: of each row so many pixels, a cache line or less each, some
/// windows on: rows that come from memory are more than the processor keeps in sight.
INL vec pool_window(bool average, const float* p, idx sPlane, idx sRow, idx sPix, idx nz, idx ny, idx nx, float scale, idx fetch) {
  constexpr idx kOn = 24;
  vec v = splat(average ? 0.f : -__builtin_inff());
  ROLL for (idx z = 0; z < nz; z++) ROLL for (idx y = 0; y < ny; y++) {
    const float* row = p + z * sPlane + y * sRow;
    UNROLL for (idx x = 0; x < fetch; x++) __builtin_prefetch(row + (kOn + x) * VL, 0, 3);
    ROLL for (idx x = 0; x < nx; x++) {
      const vec a = ld(row + x * sPix);
      v = average ? v + a : nan_max(v, a);
    }
  }
  return average ? v * scale : v;
}

}  // namespace k

/// args: in, out. units = N * blocks * rows of the output; blocks: of channels; dilation: of max pooling.
TEMPLATE(k_pool, Pool, l) {
  using namespace k;
  constexpr idx kNear = 1 << 18, kMostFetched = 4;  // floats; pixels
  const bool is_far = l.blocks * l.in.d * l.in.h * l.in.w * VL > kNear;
  ROLL for (idx u = u0; u < u1; u++) {
    const idx oh = u % l.out.h, od = u / l.out.h % l.out.d, plane = u / l.out.h / l.out.d;
    const idx z = od * l.stride.d - l.begin.d, y = oh * l.stride.h - l.begin.h;
    const idx a0 = cdiv(imax(-z, 0), l.dilation.d), a1 = imin(l.kernel.d, cdiv(imax(l.in.d - z, 0), l.dilation.d));
    const idx b0 = cdiv(imax(-y, 0), l.dilation.h), b1 = imin(l.kernel.h, cdiv(imax(l.in.h - y, 0), l.dilation.h));
    const float* in = (const float*)args[0] + plane * l.in.d * l.in.h * l.in.w * VL +
                      ((z + a0 * l.dilation.d) * l.in.h + y + b0 * l.dilation.h) * l.in.w * VL;
    float* out = (float*)args[1] + plane / l.blocks * l.out_image + ((plane % l.blocks * l.out.d + od) * l.out.h + oh) * l.out.w * VL;
    auto pixel = [&](idx ow, bool inner, idx fetch = 0) __attribute__((always_inline)) {
      const idx x = ow * l.stride.w - l.begin.w, c0 = inner ? 0 : cdiv(imax(-x, 0), l.dilation.w);
      const idx c1 = inner ? l.kernel.w : imin(l.kernel.w, cdiv(imax(l.in.w - x, 0), l.dilation.w));
      const idx taps = (a1 - a0) * (b1 - b0) * (c1 - c0);
      const float scale = l.mode == PoolMode::AverageWithPad ? 1.f / (float)(l.kernel.d * l.kernel.h * l.kernel.w) : 1.f / (float)taps;
      st(out + ow * VL, pool_window(l.mode != PoolMode::Max, in + (x + c0 * l.dilation.w) * VL, l.dilation.d * l.in.h * l.in.w * VL,
                                    l.dilation.h * l.in.w * VL, l.dilation.w * VL, a1 - a0, b1 - b0, inner ? l.kernel.w : c1 - c0, scale, fetch));
    };
    const idx span = l.in.w - 1 + l.begin.w - (l.kernel.w - 1) * l.dilation.w;
    const idx left = imin(l.out.w, cdiv(l.begin.w, l.stride.w)), right = imax(left, imin(l.out.w, span < 0 ? 0 : span / l.stride.w + 1));
    ROLL for (idx ow = 0; ow < left; ow++) pixel(ow, false);
    if (is_far) ROLL for (idx ow = left; ow < right; ow++) pixel(ow, true, imin(kMostFetched, l.stride.w));
    else ROLL for (idx ow = left; ow < right; ow++) pixel(ow, true);
    ROLL for (idx ow = right; ow < l.out.w; ow++) pixel(ow, false);
  }
}

/// args: in [planes][P][VL], out [planes][VL]. units = planes. mode: Max or Average.
TEMPLATE(k_global_pool, GlobalPool, l) {
  using namespace k;
  const bool average = l.mode != PoolMode::Max;
  ROLL for (idx b = u0; b < u1; b++) {
    const float* p = (const float*)args[0] + b * l.P * VL;
    const vec none = splat(average ? 0.f : -__builtin_inff());
    const auto join = [&](vec a, vec x) __attribute__((always_inline)) { return average ? a + x : nan_max(a, x); };
    vec all = none;
    ROLL for (idx i = 0; i < l.P;) {  // sums of parts: one running sum would lose a rounding with each pixel
      const idx end = imin(i + 256, l.P);
      vec s[4];
      UNROLL for (idx j = 0; j < 4; j++) s[j] = none;
      ROLL for (; i + 4 <= end; i += 4) UNROLL for (idx j = 0; j < 4; j++) s[j] = join(s[j], ld(p + (i + j) * VL));
      ROLL for (; i < end; i++) s[0] = join(s[0], ld(p + i * VL));
      all = join(all, join(join(s[0], s[1]), join(s[2], s[3])));
    }
    const vec v = average ? all * (1.f / (float)l.P) : all;
    st((float*)args[1] + b * VL, v);
  }
}
#endif
