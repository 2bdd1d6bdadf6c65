// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: convolution in narrow groups, blocked: one block of VL outputs has lanes of several groups, and each lane multiplies the
// inputs of its own group only.
//
// A pixel's operand of one step is the i-th input of each group of the block, every one repeated over the group's lanes; it is put together once
// and serves all taps of the row of taps. Weights: [CB][KH][IG][KW][VL], lanes past the last output 0.
#pragma once
#include "plugins/llvm_cpu/kernels/parts/tail.hpp"

namespace k {

/// IG inputs and OG outputs per group, OC outputs in CB blocks; parts: most groups that a block has lanes of.
struct Grouped {
  static constexpr char entry[] = "k_grouped";
  static constexpr void sizes(auto& l, auto mark) { mark(l.H, l.W, l.OH, l.OW, l.in_image, l.out_image, l.res_image); }
  static constexpr void hints(auto& l, auto mark) { mark(l.WT); }
  int64_t WT, parts;
  Tail tail;
  int64_t IG, OG, OC, CB, H, W, OH, OW, KH, KW, SH, SW, DH, DW, PT, PL, in_image, out_image, res_image;
};

}  // namespace k

#ifdef VW  // the template, which only clang compiles
#include "plugins/llvm_cpu/kernels/parts/dense.hpp"

namespace k {

/// The groups [first, last] of a block, and which of its lanes belong to the q-th one or a later one.
struct GroupsOfBlock {
  idx first, last;
  ivec from[8];
};
INL GroupsOfBlock groups_of_block(const Grouped& s, idx b) {
  GroupsOfBlock g;
  g.first = b * VL / s.OG, g.last = (imin(s.OC, (b + 1) * VL) - 1) / s.OG;
  ivec lane;
  UNROLL for (idx i = 0; i < VL; i++) lane[i] = (int32_t)i;
  UNROLL for (idx q = 0; q < s.parts; q++) g.from[q] = lane >= (int32_t)((g.first + q) * s.OG - b * VL);
  return g;
}

/// wt pixels of one block; L and R as in dense.hpp; off: of the tile's first column in row 0 of taps.
INL void grouped_tile(const Grouped& s, idx wt, idx L, idx R, idx parts, const GroupsOfBlock& g, idx kh0, idx kh1, const float* in, idx off,
                      const float* w, const float* bias, const float* res, float* out) {
  const idx columns = (wt - 1) * s.SW + (s.KW - 1) * s.DW + 1;
  vec acc[32];
  UNROLL for (idx p = 0; p < wt; p++) acc[p] = s.tail.bits & kBias ? ld(bias) : vec{};
  ROLL for (idx kh = kh0; kh < kh1; kh++) ROLL for (idx i = 0; i < s.IG; i++) {
    const float* at[8];
    UNROLL for (idx q = 0; q < parts; q++) {
      const idx c = imin(g.first + q, g.last) * s.IG + i;
      at[q] = in + off + kh * s.DH * s.W * VL + c / VL * s.H * s.W * VL + c % VL;
    }
    vec wv[7];
    UNROLL for (idx kw = 0; kw < s.KW; kw++) wv[kw] = ld(w + ((kh * s.IG + i) * s.KW + kw) * VL);
    UNROLL for (idx x = 0; x < columns; x++) {
      if (x < L || columns - 1 - x < R) continue;  // padding
      bool used = false;
      UNROLL for (idx kw = 0; kw < s.KW; kw++) used = used || (x >= kw * s.DW && (x - kw * s.DW) % s.SW == 0 && (x - kw * s.DW) / s.SW < wt);
      if (!used) continue;
      vec v = splat(at[0][x * VL]);
      UNROLL for (idx q = 1; q < parts; q++) v = g.from[q] ? splat(at[q][x * VL]) : v;
      UNROLL for (idx kw = 0; kw < s.KW; kw++) {
        const idx p = x - kw * s.DW;
        if (p >= 0 && p % s.SW == 0 && p / s.SW < wt) acc[p / s.SW] += wv[kw] * v;
      }
    }
  }
  UNROLL for (idx p = 0; p < wt; p++) st(out + p * VL, finish(acc[p], s.tail, bias, res + p * VL));
}

}  // namespace k

/// args: in, weights, bias, out, residual. units = N * CB * OH rows.
TEMPLATE(k_grouped, Grouped, l) {
  using namespace k;
  ROLL for (idx u = u0; u < u1; u++) {
    const idx oh = u % l.OH, plane = u / l.OH, b = plane % l.CB, n = plane / l.CB, y = oh * l.SH - l.PT;
    const idx kh0 = cdiv(imax(-y, 0), l.DH), kh1 = imin(l.KH, cdiv(imax(l.H - y, 0), l.DH));
    const idx row = (b * l.OH + oh) * l.OW * VL;
    float* out = (float*)args[3] + n * l.out_image + row;
    const float* res = (const float*)args[4] + n * l.res_image + row;
    const GroupsOfBlock g = groups_of_block(l, b);
    row_tiles(0, l.OW, 0, l.OW, HINT(l, WT), l.SW, l.DW, l.KW, l.W, l.PL, [&](idx t, idx wt, idx L, idx R, bool) __attribute__((always_inline)) {
      const idx first = GENERAL ? t : t * l.WT;
      const auto tile = [&](idx parts) __attribute__((always_inline)) {
        grouped_tile(l, wt, L, R, parts, g, kh0, kh1, (const float*)args[0] + n * l.in_image, (y * l.W + first * l.SW - l.PL) * VL,
                     (const float*)args[1] + b * l.KH * l.IG * l.KW * VL, (const float*)args[2] + b * VL, res + first * VL, out + first * VL);
      };
      if (2 * l.OG > VL && g.first == g.last) tile(1);  // of wide groups most blocks have one
      else tile(l.parts);
    });
  }
}
#endif
