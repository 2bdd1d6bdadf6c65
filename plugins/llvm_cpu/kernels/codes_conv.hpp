// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: convolution and matrix product on codes, any kernel, stride, dilation, groups, batch, in 1 to 3 dimensions.
//
// Pixels lie channels last, one after the other: [N][D][H][W][pixel] bytes; a matrix is a row of pixels. Padding is there already (k_codes_pad).
// A tap's channels, and with dilation 1 those of a whole row of taps, are one run of bytes; a kernel is a few runs. OCB blocks of VL
// outputs x WT neighbouring pixels live in registers over all runs.
// Weights whose zero points z are no centre of signed bytes are given less 128: sum x (w - z) = sum x (w - 128) + (128 - z) sum x, where the last sum is of the pixel and
// serves all outputs.
#pragma once
#include "plugins/llvm_cpu/kernels/parts/codes.hpp"
#include "plugins/llvm_cpu/kernels/parts/codes_tail.hpp"

namespace k {

struct CodesConv {
  static constexpr char entry[] = "k_codes_conv";
  static constexpr void sizes(auto& l, auto mark) {
    mark(l.by_tiles, l.run_step, l.N, l.out, l.in_image, l.in_step.d, l.in_step.h);
    mark_tail(l.tail, mark);
  }
  static constexpr void hints(auto& l, auto mark) { mark(l.WT); }
  static constexpr int64_t tile_hints = 0;  // remainders have a body for each width
  static constexpr bool has_tile = true;
  Dot dot;
  int64_t by_tiles, OCB, WT;
  CodesTail tail;
  int64_t G, OC;           ///< groups, and output channels of one
  int64_t float_bias;      ///< there is one
  int64_t adds_sums;       ///< a number per output channel times the sum of the pixel's codes is added; not of Dot::Pairs
  int64_t quads;           ///< groups of four bytes of a run
  Three runs, run_step;    ///< how many, and bytes from one to the next
  int64_t N;
  Three out;               ///< outputs; rows of out.w are cut into tiles
  int64_t in_group, in_image;
  Three in_step;           ///< input bytes from output to output
  int64_t out_pixel;       ///< elements from pixel to pixel of the result
  int64_t fetch;           ///< the weights of the next group, which directly follow, are fetched while one is used
};
/// Rows of pixels with their padding. Numbers of pixels; `pixel`: bytes of one. begin: padding before; it may be more than `out` needs behind.
struct CodesPad {
  static constexpr char entry[] = "k_codes_pad";
  static constexpr void sizes(auto& l, auto mark) { mark(l.in, l.out, l.begin); }
  Three in, out, begin;
  int64_t pixel;
};
/// Rows of `size` bytes become rows of `padded`, each byte xored with `flip`.
struct CodesRows {
  static constexpr char entry[] = "k_codes_rows";
  static constexpr void sizes(auto& l, auto mark) { mark(l.size, l.padded); }
  int64_t size, padded, flip;
};

}  // namespace k

#ifdef VW  // the template, which only clang compiles
#include "plugins/llvm_cpu/kernels/parts/powers.hpp"

namespace k {

/// Pixels [q, q + wt) of the result, from input byte x on; OB blocks from channel c0 of group g on.
INL void codes_tile(const CodesConv& l, idx OB, idx wt, void* const* args, const uint8_t* x, const char* w, idx lane0, idx c0, idx last, idx q, const char*& ahead,
                    idx line) {
  ivec acc[32];
  UNROLL for (idx o = 0; o < OB; o++) {
    const ivec b = *(const ivecu*)((const int32_t*)args[3] + lane0 + o * VL);
    UNROLL for (idx p = 0; p < wt; p++) acc[o * wt + p] = b;
  }
  ivec sums[16] = {};
  const char* const ones = l.adds_sums ? (const char*)args[7] : nullptr;
  const idx bytes = l.quads * OB * VL * (l.dot == Dot::Pairs ? 8 : 4);
  ROLL for (idx d = 0; d < l.runs.d; d++) ROLL for (idx h = 0; h < l.runs.h; h++) ROLL for (idx r = 0; r < l.runs.w; r++) {
    codes_run(l.dot, OB, wt, l.in_step.w, x + d * l.run_step.d + h * l.run_step.h + r * l.run_step.w, w, l.quads, acc, l.fetch, ahead, line, ones, sums);
    w += bytes;
  }
  if (l.adds_sums) UNROLL for (idx o = 0; o < OB; o++) {
    const ivec times = *(const ivecu*)((const int32_t*)args[8] + lane0 + o * VL);
    UNROLL for (idx p = 0; p < wt; p++) acc[o * wt + p] += sums[p] * times;
  }
  codes_finish(l.tail, (const float*)args[5], args + (l.adds_sums ? 9 : 7), args[6], l.out_pixel, OB, wt, {last, false}, c0, q, [&](idx o, idx p) __attribute__((always_inline)) {
    vec v = __builtin_convertvector(acc[o * wt + p], vec) * ld((const float*)args[2] + lane0 + o * VL);
    if (l.float_bias) v += ld((const float*)args[4] + lane0 + o * VL);
    return v;
  });
}

/// oc group g, counted over the groups of the convolution, tiles [t0, t1).
INL void codes_tiles(const CodesConv& l, void* const* args, idx g, idx t0, idx t1) {
  const idx nb = cdiv(l.OC, VL), per = cdiv(nb, l.OCB), cg = g / per, og = g % per, full = nb / l.OCB, T = cdiv(l.out.w, l.WT);
  const idx lane0 = (cg * nb + og * l.OCB) * VL, c0 = cg * l.OC + og * l.OCB * VL, rest = l.OC - (nb - 1) * VL;
  const idx all = l.runs.d * l.runs.h * l.runs.w * l.quads * (l.dot == Dot::Pairs ? 8 : 4);  // bytes of weights per output channel
  const char* w = (const char*)args[1] + lane0 * all;
  auto group = [&](idx OB, idx last) __attribute__((always_inline)) {
    const char* ahead = w + OB * VL * all;
    const char* const end = ahead + OB * VL * all;
#if GENERAL  // row by row, in this kernel's tiles, whatever the plan's are
    ROLL for (idx u = t0; u < t1;) {
      const idx row = u / T, t = u % T, some = imin(T - t, t1 - u), n = row / (l.out.d * l.out.h), z = row / l.out.h % l.out.d, y = row % l.out.h;
      const uint8_t* x = (const uint8_t*)args[0] + cg * l.in_group + n * l.in_image + z * l.in_step.d + y * l.in_step.h;
      const auto pixels = [&](idx first, idx wt) __attribute__((always_inline)) {
        codes_tile(l, OB, wt, args, x + first * l.in_step.w, w, lane0, c0, last, row * l.out.w + first, ahead, ahead < end ? 64 : 0);
      };
      const idx WT = HINT(l, WT), stop = imin(l.out.w, (t + some) * l.WT);
      idx p = t * l.WT;
      ROLL for (; p + WT <= stop; p += WT) pixels(p, WT);
      exactly(WT, stop - p, [&](idx wt) __attribute__((always_inline)) { pixels(p, wt); });
      u += some;
    }
    return;
#endif
    ROLL for (idx u = t0; u < t1; u++) {
      const idx line = ahead < end ? 64 : 0;
      const idx row = u / T, t = u % T, n = row / (l.out.d * l.out.h), z = row / l.out.h % l.out.d, y = row % l.out.h;
      const uint8_t* x = (const uint8_t*)args[0] + cg * l.in_group + n * l.in_image + z * l.in_step.d + y * l.in_step.h + t * l.WT * l.in_step.w;
      const idx q = row * l.out.w + t * l.WT;
      if (l.out.w % l.WT && t == T - 1) codes_tile(l, OB, l.out.w % l.WT, args, x, w, lane0, c0, last, q, ahead, line);
      else if (l.out.w >= l.WT) codes_tile(l, OB, l.WT, args, x, w, lane0, c0, last, q, ahead, line);
    }
  };
  if (nb % l.OCB && og == full) group(nb % l.OCB, rest);
  else if (rest < VL && og == per - 1) group(l.OCB, rest);
  else if (full > 0) group(l.OCB, VL);
}

}  // namespace k

/// args: in, weights (Pack::Codes), multipliers (float) and bias (int32) and float bias or null per output channel, padded to blocks per
/// group, numbers of the tail, out; with adds_sums the bytes of a run that codes_run calls ones, and a number (int32) per output channel, padded likewise; operands of the
/// tail's steps. by_tiles: units = N * OD * OH * ceil(OW / WT) tiles, else oc groups.
TEMPLATE(k_codes_conv, CodesConv, l) {
  using namespace k;
  const idx groups = l.G * cdiv(cdiv(l.OC, VL), l.OCB), tiles = l.N * l.out.d * l.out.h * cdiv(l.out.w, l.WT);
#if GENERAL  // both ways by one body
  ROLL for (idx g = l.by_tiles ? 0 : u0; g < (l.by_tiles ? groups : u1); g++) codes_tiles(l, args, g, l.by_tiles ? u0 : 0, l.by_tiles ? u1 : tiles);
  return;
#endif
  if (l.by_tiles) ROLL for (idx g = 0; g < groups; g++) codes_tiles(l, args, g, u0, u1);
  else ROLL for (idx g = u0; g < u1; g++) codes_tiles(l, args, g, 0, tiles);
}

/// args: in, the code of zero (one byte), out. units = N * out.d * out.h rows.
TEMPLATE(k_codes_pad, CodesPad, l) {
  using namespace k;
  const int zero = *(const uint8_t*)args[1];
  const idx row = l.out.w * l.pixel, before = imin(l.begin.w * l.pixel, row), inside = imin(l.in.w * l.pixel, row - before);
  ROLL for (idx u = u0; u < u1; u++) {
    const idx y = u % l.out.h - l.begin.h, z = u / l.out.h % l.out.d - l.begin.d, n = u / (l.out.h * l.out.d);
    uint8_t* to = (uint8_t*)args[2] + u * row;
    if (y < 0 || y >= l.in.h || z < 0 || z >= l.in.d) {
      __builtin_memset(to, zero, (size_t)row);
      continue;
    }
    __builtin_memset(to, zero, (size_t)before);
    __builtin_memcpy(to + before, (const uint8_t*)args[0] + ((n * l.in.d + z) * l.in.h + y) * l.in.w * l.pixel, (size_t)inside);
    __builtin_memset(to + before + inside, zero, (size_t)(row - before - inside));
  }
}

/// args: in, out. units = rows. Bytes past a row's end become 0.
TEMPLATE(k_codes_rows, CodesRows, l) {
  ROLL for (int64_t u = u0; u < u1; u++) {
    const uint8_t* in = (const uint8_t*)args[0] + u * l.size;
    uint8_t* out = (uint8_t*)args[1] + u * l.padded;
    for (int64_t i = 0; i < l.size; i++) out[i] = in[i] ^ (uint8_t)l.flip;
    for (int64_t i = l.size; i < l.padded; i++) out[i] = 0;
  }
}
#endif
