// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: the one dense micro-kernel; direct convolution, planar stem, 1x1 and Winograd end here.
//
// TILE. OCB blocks of VL outputs x WT neighbouring pixels live in registers. Per k step (one input channel, one tap): OCB
//   vector loads of weights, WT scalar broadcasts, OCB * WT multiply-adds.
// BARRIER. An empty asm with a memory clobber before every tap. Without it LLVM sees that tap kw+1 of pixel p reads the same
//   scalar as tap kw of pixel p+1, keeps those broadcasts in registers and spills the accumulators. Inputs must not be
//   marked noalias: that makes the barrier ineffective.
// PREFETCH. PF cache lines per input channel of the panel after this one, which directly follows in memory, so that all
//   tiles that reuse a panel share the work. It must stand after the multiply-adds of a tap; before them LLVM spills. Loops over lines have
//   constant ends: one that begins at kw is still a loop while taps are unrolled, and over its blocks LLVM moves multiply-adds behind later taps' loads.
//   A tile reads runs of pixels too short for the processor to see coming, from each row of each block: where the input comes
//   from beyond L2, `ahead` fetches those of the next tile.
// EDGES. No padded copies: L and R say how many input columns a tile hangs over the image; taps there are dropped while
//   unrolling. Rows: kd and kh are limited.
#pragma once
#include "plugins/llvm_cpu/kernels/parts/activation.hpp"
#include "plugins/llvm_cpu/kernels/parts/powers.hpp"
#include "plugins/llvm_cpu/kernels/parts/vec.hpp"

namespace k {

/// At most so many lines of weights, and pixels ahead, are fetched per input channel.
constexpr idx kMostLines = 4, kMostAhead = 8;

/// Everything about a tile that is literal. IB: inputs per block, VL for blocked input, 1 for planar.
struct TileShape {
  idx OCB, WT, KD, KH, KW, S, D, DH, DD, IB, PF;
  Tail tail;
  idx sPix, sRow, sPlane, sIB, sOB, sOPix;  // input steps in floats; output step per block and per pixel
  bool looped = false;  // a tile of one pixel whose L and R are numbers of the run: its taps go in a loop
  idx ahead = 0;  // pixels of the row behind the tile to prefetch per input channel; for blocked input, whose pixels are a cache line each
};

/// Taps of a row that are unrolled: long rows, as signal transforms have, would be megabytes of code.
constexpr idx kMostUnrolled = 64;

/// Taps [first, end) of a row; long rows in a loop.
template <class F>
INL void each_tap(bool looped, idx first, idx end, F f) {
  if (!looped && end - first <= kMostUnrolled) UNROLL for (idx kw = first; kw < end; kw++) f(kw);
  else ROLL for (idx kw = first; kw < end; kw++) f(kw);
}

/// Input element (channel b*IB+i, tap kd,kh,kw, pixel p) = in[off + b*sIB + i + kd*DD*sPlane + kh*DH*sRow + (p*S+kw*D)*sPix].
/// ic channels are added; first: start from bias, else from the partial sums in out; last: apply the tail.
/// pf, pfs: prefetch address and its step (64, or 0 once the next panel is complete). Returns the advanced pf.
INL const char* tile(TileShape t, idx L, idx R, idx ic, idx kd0, idx kd1, idx kh0, idx kh1, bool first, bool last,
                     const float* in, idx off, const float* w, const float* bias, const float* res, float* out,
                     const char* pf, idx pfs) {
  vec acc[32];
  UNROLL for (idx o = 0; o < t.OCB; o++) UNROLL for (idx p = 0; p < t.WT; p++)
    acc[o * t.WT + p] = !first ? ld(out + o * t.sOB + p * t.sOPix) : t.tail.bits & kBias ? ld(bias + o * VL) : vec{};
  ROLL for (idx b = 0; b < ic; b += t.IB) {
    const idx n = imin(t.IB, ic - b);
    ROLL for (idx kd = kd0; kd < kd1; kd++) ROLL for (idx kh = kh0; kh < kh1; kh++) {
      idx a = off + b / t.IB * t.sIB + kd * t.DD * t.sPlane + kh * t.DH * t.sRow;
      [[maybe_unused]] const float* next = in + a + ((t.WT - 1) * t.S + (t.KW - 1) * t.D + 1) * t.sPix;
      const float* wp = w + (b * t.KD * t.KH + (kd * t.KH + kh) * n) * t.KW * t.OCB * VL;
      ROLL for (idx i = 0; i < n; i++) {
        const idx kw0 = t.looped ? cdiv(L, t.D) : 0, kw1 = t.looped ? t.KW - cdiv(R, t.D) : t.KW;
        each_tap(t.looped, kw0, kw1, [&](idx kw) __attribute__((always_inline)) {
          BARRIER;
          vec wv[8];
          UNROLL for (idx o = 0; o < t.OCB; o++) wv[o] = ld(wp + (kw * t.OCB + o) * VL);
          UNROLL for (idx p = 0; p < t.WT; p++) {
            if (!t.looped && (p * t.S + kw * t.D < L || (t.WT - 1 - p) * t.S + (t.KW - 1 - kw) * t.D < R)) continue;  // tap on padding
            const float x = in[a + (p * t.S + kw * t.D) * t.sPix];
            UNROLL for (idx o = 0; o < t.OCB; o++) acc[o * t.WT + p] += wv[o] * x;
          }
          if (t.looped || t.KW > kMostUnrolled) return;  // branches in a loop part loads from multiply-adds, and LLVM spills; and a few lines are nothing beside such a row
          UNROLL for (idx q = 0; q < kMostLines; q++) if (q % t.KW == kw && q < t.PF) __builtin_prefetch(pf + q * pfs, 0, 2);
          UNROLL for (idx q = 0; q < kMostAhead; q++) if (q % t.KW == kw && q < t.ahead) __builtin_prefetch(next + (i * t.ahead + q) * t.sPix, 0, 3);
        });
        a++, wp += t.KW * t.OCB * VL, pf += t.PF * pfs;
      }
    }
  }
  UNROLL for (idx o = 0; o < t.OCB; o++) UNROLL for (idx p = 0; p < t.WT; p++) {
    const idx at = o * t.sOB + p * t.sOPix;
    vec v = acc[o * t.WT + p];
    if (last) v = finish(v, t.tail, bias + o * VL, res + at);
    st(out + at, v);
  }
  return pf;
}

#if GENERAL
/// The general row, pixels [from, to) of it, which begins `skip` pixels behind the image's: f(first pixel, width, L, R, false), where width, L and R are
/// constants: with numbers of the run for these LLVM spills accumulators. What padding makes of most rows has bodies: L of a first tile, R of up to two
/// columns. Outer pixels where it is more, or of which none has a tile, go one by one: f(pixel, 1, L, R, true).
template <class F>
INL void row_tiles(idx from, idx to, idx skip, idx OW, idx WT, idx S, idx D, idx KW, idx W, idx PL, F f) {
  const idx lead = PL - skip * S, reach = (KW - 1) * D, span = W - 1 + lead - reach, most = reach == 0 ? 0 : PL > 1 ? 2 : 1;
  const auto over = [&](idx end) __attribute__((always_inline)) { return imax(0, (end - 1) * S - span); };
  const bool tile_first = skip == 0 && PL > 0 && PL <= WT * S && PL <= reach && to >= WT && over(WT) == 0;
  const idx left = tile_first ? 0 : imin(OW, cdiv(imax(0, lead), S));
  const idx all = over(OW) <= most ? OW : imax(left, imin(OW, span < 0 ? 0 : span / S + 1)), end = imin(to, all);  // before it nothing has an overhang
  ROLL for (idx x = from < left ? from : imax(from, all); x < to; x = x + 1 == left ? imax(from, all) : x + 1) f(x, idx(1), imax(0, lead - x * S), over(x + 1), true);
  idx x = imax(from, left);
  if (tile_first && from == 0) f(idx(0), WT, PL, idx(0), false), x = WT;
  const auto edge = [&](idx first, idx width) __attribute__((always_inline)) {
    const idx R = over(first + width);
    if (R == 0) f(first, width, idx(0), idx(0), false);
    if (most > 0 && R == 1) f(first, width, idx(0), idx(1), false);
    if (most > 1 && R == 2) f(first, width, idx(0), idx(2), false);
  };
  ROLL for (; x + WT <= end; x += WT) edge(x, WT);
  powers(WT, imax(0, end - x), [&](idx at, idx width) __attribute__((always_inline)) { edge(x + at, width); });
}
#else
/// Pixels [from, to) of one row of output, which begins `skip` pixels behind the image's, cut into left, middle, right and remainder tiles.
/// f(tile number, width, L, R, false) is called for each. OW outputs, WT per tile, stride S, input columns -PL .. W-1+padding, taps 0 .. (KW-1)*D. from: of whole tiles; to: likewise, or OW.
template <class F>
INL void row_tiles(idx from, idx to, idx skip, idx OW, idx WT, idx S, idx D, idx KW, idx W, idx PL, F f) {
  PL -= skip * S;
  const idx nt = OW / WT, span = W - 1 + PL - (KW - 1) * D;                    // last column where a whole tap row fits
  const idx tl = imin(nt, cdiv(imax(0, PL), WT * S));                         // tiles hanging over on the left
  const idx tr = imax(tl, imin(nt, span < 0 ? 0 : (span + S) / (WT * S)));    // first one over on the right
  auto over = [&](idx end) __attribute__((always_inline)) { return imax(0, (end - 1) * S - span); };
  const idx t0 = from / WT, t1 = to / WT;
  if (tl > 0 && t0 == 0) f(idx(0), WT, imax(0, PL), over(WT), false);
  ROLL for (idx t = imax(1, t0); t < imin(tl, t1); t++) f(t, WT, PL - t * WT * S, over((t + 1) * WT), false);  // empty when WT*S >= PL
  ROLL for (idx t = imax(tl, t0); t < imin(tr, t1); t++) f(t, WT, idx(0), idx(0), false);
  ROLL for (idx t = imax(tr, t0); t < imin(nt - 1, t1); t++) f(t, WT, idx(0), over((t + 1) * WT), false);
  if (tr < nt && t0 < nt && t1 == nt) f(nt - 1, WT, idx(0), over(nt * WT), false);
  if (OW % WT && to == OW) f(nt, OW % WT, imax(0, PL - nt * WT * S), over(OW), false);
}
#endif

}  // namespace k
