// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: pooling of codes with channels last, and picking of whole pixels.
#pragma once
#include "plugins/llvm_cpu/kernels/parts/pool_mode.hpp"

namespace k {

/// `channels`: of a pixel, those that hold anything included; `span`: of them in a unit; `from`, `to`: bytes from pixel to pixel.
struct PoolCodes {
  static constexpr char entry[] = "k_pool_codes";
  static constexpr void sizes(auto& l, auto mark) { mark(l.in, l.out, l.kernel, l.begin, l.end); }
  PoolMode mode;
  Three in, out, kernel, stride, dilation, begin, end;
  int64_t channels, span, from, to, in_sign, out_sign;
};
/// `run`: bytes of a pixel; `rows`: pixels of a unit.
struct PickPixels {
  static constexpr char entry[] = "k_pick_pixels";
  static constexpr void sizes(auto& l, auto mark) { mark(l.images, l.size, l.count, l.rows); }
  int64_t images, size, count, rows, run, from, to;
};

}  // namespace k

#ifdef VW  // the template, which only clang compiles
#include "plugins/llvm_cpu/kernels/parts/lookup.hpp"
#include "plugins/llvm_cpu/kernels/parts/quantize.hpp"
#include "plugins/llvm_cpu/kernels/parts/turn.hpp"

namespace k::pool_codes {

// The taps of an output pixel that lie inside, of one axis, and how many lie on the image or its padding.
struct Taps {
  idx first, count, padded;
};
INL Taps taps_at(idx o, idx size, idx window, idx step, idx dilation, idx pad, idx pad_end) {
  const idx start = o * step - pad, lo = start < 0 ? cdiv(-start, dilation) : 0, hi = imin(window, cdiv(imax(0, size - start), dilation));
  return {start + lo * dilation, imax(0, hi - lo), imin(window, cdiv(size + pad_end - start, dilation))};
}
// f(address of a tap's pixel)
template <class F>
INL void each(const PoolCodes& l, const uint8_t* image, Taps z, Taps y, Taps x, F f) {
  ROLL for (idx a = 0; a < z.count; a++) ROLL for (idx b = 0; b < y.count; b++) ROLL for (idx c = 0; c < x.count; c++)
    f(image + (((z.first + a * l.dilation.d) * l.in.h + y.first + b * l.dilation.h) * l.in.w + x.first + c * l.dilation.w) * l.from);
}
// The largest of bytes, signed ones by turning their top bit. `B` holds `n` bytes, of which `some` are there.
template <class B>
INL void largest(const PoolCodes& l, const uint8_t* image, Taps z, Taps y, Taps x, uint8_t* to, idx some) {
  const uint8_t turn = l.in_sign ? 0x80 : 0;
  B v = {};
  each(l, image, z, y, x, [&](const uint8_t* p) __attribute__((always_inline)) {
    B tap = {};
    __builtin_memcpy(&tap, p, some);
    tap ^= turn;
    v = v > tap ? v : tap;
  });
  v ^= turn;
  __builtin_memcpy(to, &v, some);
}
// As the float operators one by one: reals, a sum in double, a mean rounded to float, its code.
INL void average(const PoolCodes& l, const float* steps, const uint8_t* image, Taps z, Taps y, Taps x, uint8_t* to, idx some) {
  const vec scale = splat(steps[0]), zero = splat(steps[1]);
  dvec sum = {};
  each(l, image, z, y, x, [&](const uint8_t* p) __attribute__((always_inline)) {
    quantize::codes c = {};
    __builtin_memcpy(&c, p, some);
    sum += wide(quantize::real(c, l.in_sign, scale, zero));
  });
  const idx taps = l.mode == PoolMode::Average ? z.count * y.count * x.count : z.padded * y.padded * x.padded;
  const vec mean = narrow(sum / (double)taps);
  const ivec code = quantize::quantized(mean, splat(steps[2]), splat(steps[3]), splat(steps[4]), l.out_sign ? -128 : 0, l.out_sign ? 127 : 255);
  const quantize::codes out = quantize::narrowed(code);
  __builtin_memcpy(to, &out, some);
}

}  // namespace k::pool_codes

// args: codes [N][in][from], codes [N][out][to], and for means {scale, zero point, scale of the result, its inverse, its zero point}.
// units = N * out.d * out.h * ceil(channels / span). span: a multiple of 64, or all channels. No window is empty.
TEMPLATE(k_pool_codes, PoolCodes, l) {
  using namespace k;
  using namespace k::pool_codes;
  const idx spans = cdiv(l.channels, l.span);
  ROLL for (idx u = u0; u < u1; u++) {
    const idx c0 = u % spans * l.span, c1 = imin(l.channels, c0 + l.span), row = u / spans, oh = row % l.out.h, od = row / l.out.h % l.out.d;
    const uint8_t* image = (const uint8_t*)args[0] + row / (l.out.h * l.out.d) * l.in.d * l.in.h * l.in.w * l.from;
    uint8_t* out = (uint8_t*)args[1] + row * l.out.w * l.to;
    const Taps z = taps_at(od, l.in.d, l.kernel.d, l.stride.d, l.dilation.d, l.begin.d, l.end.d);
    const Taps y = taps_at(oh, l.in.h, l.kernel.h, l.stride.h, l.dilation.h, l.begin.h, l.end.h);
    ROLL for (idx ow = 0; ow < l.out.w; ow++) {
      const Taps x = taps_at(ow, l.in.w, l.kernel.w, l.stride.w, l.dilation.w, l.begin.w, l.end.w);
      idx c = c0;
      if (l.mode == PoolMode::Max) {
        ROLL for (; c + lookup::kBytes <= c1; c += lookup::kBytes) largest<lookup::bytes>(l, image + c, z, y, x, out + ow * l.to + c, lookup::kBytes);
        ROLL for (; c + 16 <= c1; c += 16) largest<turn::row>(l, image + c, z, y, x, out + ow * l.to + c, 16);
        if (l.channels == 4) largest<turn::row>(l, image, z, y, x, out + ow * l.to, 4);
      } else if (l.channels == 4) {
        average(l, (const float*)args[2], image, z, y, x, out + ow * l.to, 4);
      } else {
        ROLL for (; c < c1; c += VL) average(l, (const float*)args[2], image + c, z, y, x, out + ow * l.to + c, VL);
      }
    }
  }
}

// out[n][i] = in[n][index[i]], whole pixels. args: in [images][size][from], index (int32 [count], within [0, size)), out [images][count][to].
// units = images * ceil(count / rows).
TEMPLATE(k_pick_pixels, PickPixels, l) {
  using namespace k;
  const auto* index = (const int32_t*)args[1];
  const idx strips = cdiv(l.count, l.rows);
  ROLL for (idx u = u0; u < u1; u++) {
    const idx n = u / strips, first = u % strips * l.rows;
    const uint8_t* in = (const uint8_t*)args[0] + n * l.size * l.from;
    uint8_t* out = (uint8_t*)args[2] + n * l.count * l.to;
    ROLL for (idx i = first; i < imin(l.count, first + l.rows); i++) __builtin_memcpy(out + i * l.to, in + index[i] * l.from, l.run);
  }
}
#endif
