// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: where floats become codes with channels last, and where those become floats in another layout: one pass each.
#pragma once
#include "plugins/llvm_cpu/kernels/parts/literals.hpp"

namespace k {

/// `low`, `high`: of the codes as the graph has them; `flip` is xored to a byte on its way to or from channels last. `each`: one scale and
/// zero point per channel, else one.
struct QuantizeToLast {
  static constexpr char entry[] = "k_quantize_to_last";
  static constexpr void sizes(auto& l, auto mark) { mark(l.P); }
  int64_t C, P, pixel, low, high, flip, each;
};
struct QuantizeBlocked {
  static constexpr char entry[] = "k_quantize_blocked";
  static constexpr void sizes(auto& l, auto mark) { mark(l.P); }
  int64_t C, P, pixel, low, high, flip, each;
};
struct DequantizeFromLast {
  static constexpr char entry[] = "k_dequantize_from_last";
  static constexpr void sizes(auto& l, auto mark) { mark(l.P); }
  int64_t C, P, pixel, with_sign, flip, each;
};
struct DequantizeToBlocked {
  static constexpr char entry[] = "k_dequantize_to_blocked";
  static constexpr void sizes(auto& l, auto mark) { mark(l.P); }
  int64_t C, P, pixel, with_sign, flip, each;
};
constexpr int64_t kPixels = 64;  ///< per unit of the blocked ones

}  // namespace k

#ifdef VW  // the template, which only clang compiles
#include "plugins/llvm_cpu/kernels/parts/lanes.hpp"
#include "plugins/llvm_cpu/kernels/parts/quantize.hpp"
#include "plugins/llvm_cpu/kernels/parts/turn.hpp"

namespace k::ends {

/// Three numbers per channel, or one of each: scale, its inverse, zero point; each kind padded to whole blocks of 16.
struct Steps {
  const float* of;
  idx count;  // of each kind
  METHOD vec scale(idx c, bool each) const { return each ? ld(of + c) : splat(of[0]); }
  METHOD vec inverse(idx c, bool each) const { return each ? ld(of + count + c) : splat(of[count]); }
  METHOD vec zero(idx c, bool each) const { return each ? ld(of + 2 * count + c) : splat(of[2 * count]); }
};
INL Steps steps_of(const void* arg, bool each, idx C) { return {(const float*)arg, each ? cdiv(C, 16) * 16 : 1}; }

/// Units [u0, u1) of kPixels pixels between blocked floats and codes with channels last, block by block: of_block(first channel) gives
/// f(floats of a pixel, its codes, how many of the codes are there).
template <class L, class F>
INL void each_block(const L& l, idx u0, idx u1, F of_block) {
  const idx strips = cdiv(l.P, kPixels), blocks = cdiv(l.C, VL);
  ROLL for (idx u = u0; u < u1; u++) ROLL for (idx b = 0; b < blocks; b++) {
    const idx n = u / strips, first = u % strips * kPixels, c = b * VL, lanes = imin(VL, l.pixel - c);
    const auto pixel = of_block(c);
    ROLL for (idx p = first; p < imin(l.P, first + kPixels); p++) pixel(((n * blocks + b) * l.P + p) * VL, (n * l.P + p) * l.pixel + c, lanes);
  }
}

}  // namespace k::ends

// args: floats [N][C][P], steps (ends::Steps), codes [N][P][pixel]. units = N * ceil(P / 64).
TEMPLATE(k_quantize_to_last, QuantizeToLast, l) {
  using namespace k;
  const ends::Steps s = ends::steps_of(args[1], l.each, l.C);
  ROLL for (idx u = u0; u < u1; u++)
    turn::to_last(u, l.C, l.P, l.pixel, (uint8_t*)args[2], [&](idx n, idx c, idx p, idx pixels) __attribute__((always_inline)) {
      const float* from = (const float*)args[0] + (n * l.C + c) * l.P + p;
      const idx at = l.each ? c : 0;
      const vec scale = splat(s.of[at]), inverse = splat(s.of[s.count + at]), zero = splat(s.of[2 * s.count + at]);
      turn::row out = {};
      UNROLL for (idx i = 0; i < 16; i += VL) {
        const vec x = pixels == 16 ? ld(from + i) : i < pixels ? ld_part(from + i, imin(VL, pixels - i), 0) : vec{};
        const quantize::codes v = quantize::narrowed(quantize::quantized(x, scale, inverse, zero, l.low, l.high));
        __builtin_memcpy((char*)&out + i, &v, VL);
      }
      return out ^ (uint8_t)l.flip;
    });
}

// args: floats [N][ceil(C / VL)][P][VL], steps, codes [N][P][pixel]. units = N * ceil(P / kPixels).
TEMPLATE(k_quantize_blocked, QuantizeBlocked, l) {
  using namespace k;
  const ends::Steps s = ends::steps_of(args[1], l.each, l.C);
  ends::each_block(l, u0, u1, [&](idx c) __attribute__((always_inline)) {
    const vec scale = s.scale(c, l.each), inverse = s.inverse(c, l.each), zero = s.zero(c, l.each);
    return [=, &l](idx from, idx to, idx lanes) __attribute__((always_inline)) {
      const vec x = ld((const float*)args[0] + from);
      const quantize::codes v = quantize::narrowed(quantize::quantized(x, scale, inverse, zero, l.low, l.high)) ^ (uint8_t)l.flip;
      if (lanes == VL) __builtin_memcpy((uint8_t*)args[2] + to, &v, VL);
      else __builtin_memcpy((uint8_t*)args[2] + to, &v, 4);  // pixels of 4
    };
  });
}

// args: codes [N][P][pixel], steps, floats [N][C][P]. units = N * ceil(P / 64).
TEMPLATE(k_dequantize_from_last, DequantizeFromLast, l) {
  using namespace k;
  const ends::Steps s = ends::steps_of(args[1], l.each, l.C);
  ROLL for (idx u = u0; u < u1; u++)
    turn::from_last(u, l.C, l.P, l.pixel, (const uint8_t*)args[0], [&](idx n, idx c, idx p, idx pixels, turn::row v) __attribute__((always_inline)) {
      float* to = (float*)args[2] + (n * l.C + c) * l.P + p;
      const idx at = l.each ? c : 0;
      const vec scale = splat(s.of[at]), zero = splat(s.of[2 * s.count + at]);
      v ^= (uint8_t)l.flip;
      UNROLL for (idx i = 0; i < 16; i += VL) {
        quantize::codes part;
        __builtin_memcpy(&part, (const char*)&v + i, VL);
        const vec x = quantize::real(part, l.with_sign, scale, zero);
        if (pixels == 16) st(to + i, x);
        else if (i < pixels) st_part(to + i, x, imin(VL, pixels - i));
      }
    });
}

// args: codes [N][P][pixel], steps, floats [N][ceil(C / VL)][P][VL]. units = N * ceil(P / kPixels).
TEMPLATE(k_dequantize_to_blocked, DequantizeToBlocked, l) {
  using namespace k;
  const ends::Steps s = ends::steps_of(args[1], l.each, l.C);
  ends::each_block(l, u0, u1, [&](idx c) __attribute__((always_inline)) {
    const vec scale = s.scale(c, l.each), zero = s.zero(c, l.each);
    return [=, &l](idx to, idx from, idx lanes) __attribute__((always_inline)) {
      quantize::codes v = {};
      if (lanes == VL) __builtin_memcpy(&v, (const uint8_t*)args[0] + from, VL);
      else __builtin_memcpy(&v, (const uint8_t*)args[0] + from, 4);
      st((float*)args[2] + to, quantize::real(v ^ (uint8_t)l.flip, l.with_sign, scale, zero));
    };
  });
}
#endif
