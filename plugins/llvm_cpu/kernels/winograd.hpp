// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: Winograd convolution F(M x M, 3x3), M = 4 or 2, stride 1. Weights: Pack::Winograd.
// F4 uses the points {0, 1, -1, 2, -1/2, inf} (half the error of {0, 1, -1, 2, -2}), F2 {0, 1, -1, inf}. Per block of tiles:
//   V[pos][ic block][tile][VL] = B' d B,  M[pos][oc block][tile][VL] = U[pos] x V[pos],  out = A' M A + tail.
#pragma once
#include "plugins/llvm_cpu/kernels/parts/tail.hpp"

namespace k {

struct Winograd {
  static constexpr char entry[] = "k_winograd";
  static constexpr void sizes(auto& l, auto mark) { mark(l.by_tiles, l.TB, l.H, l.W, l.OH, l.OW, l.in_image, l.out_image, l.res_image); }
  static constexpr void hints(auto& l, auto mark) { mark(l.WT, l.PF); }
  static constexpr bool has_tile = true;
  int64_t by_tiles, M, OCB, WT, TB, PF;
  Tail tail;
  int64_t IC, H, W, OC, OH, OW, PT, PL, in_image, out_image, res_image;
};

}  // namespace k

#ifdef VW  // the template, which only clang compiles
#include "plugins/llvm_cpu/kernels/parts/product.hpp"

namespace k {

INL void input_line(idx M, vec* d) {  // B' on one line of M + 2 values
  if (M == 2) {
    const vec a = d[0] - d[2], b = d[1] + d[2], c = d[2] - d[1], e = d[1] - d[3];
    d[0] = a, d[1] = b, d[2] = c, d[3] = e;
  } else {
    const vec u0 = d[2] - 1.5f * d[1] - d[0], u1 = d[3] - 1.5f * d[2] - d[1], u2 = d[4] - 1.5f * d[3] - d[2],
              u3 = d[5] - 1.5f * d[4] - d[3], v = d[3] - d[1], w = d[4] - d[2];
    d[0] = u2 - u0, d[1] = u2 + u1, d[2] = u2 - u1, d[3] = w + 0.5f * v, d[4] = w - 2.f * v, d[5] = u3 - u1;
  }
}
INL void output_line(idx M, vec* m) {  // A' on one line, result in m[0..M)
  const vec s = m[1] + m[2], d = m[1] - m[2];
  if (M == 2) {
    m[0] += s, m[1] = d - m[3];
  } else {
    m[0] += s + m[3] + m[4], m[1] = d + 2.f * m[3] - 0.5f * m[4], m[2] = s + 4.f * m[3] + 0.25f * m[4];
    m[3] = d + 8.f * m[3] - 0.125f * m[4] + m[5];
  }
}
/// Floats between positions of V and M: one vector more than a multiple of the block, so that 36 streams do not share sets.
INL idx position_step(idx blocks, idx tiles) { return (blocks * tiles + 1) * VL; }

/// All input blocks of tiles [t0, t1) of one image; tile t0 goes to slot 0.
INL void winograd_input(const Winograd& s, const float* in, float* V, idx t0, idx t1) {
  const idx A = s.M + 2, pos = position_step(cdiv(s.IC, VL), s.TB), TW = cdiv(s.OW, s.M);
  ROLL for (idx b = 0; b < cdiv(s.IC, VL); b++) ROLL for (idx t = t0; t < t1; t++) {
    const idx y = t / TW * s.M - s.PT, x = t % TW * s.M - s.PL;
    const float* src = in + ((b * s.H + y) * s.W + x) * VL;
    idx row = s.W * VL;
    vec edge[36], m[36];
    if (y < 0 || x < 0 || y + A > s.H || x + A > s.W) {  // edge tile: zero-padded copy
      ROLL for (idx i = 0; i < A; i++) ROLL for (idx j = 0; j < A; j++)
        edge[i * A + j] = y + i >= 0 && y + i < s.H && x + j >= 0 && x + j < s.W ? ld(src + i * row + j * VL) : vec{};
      src = (const float*)edge, row = A * VL;
    }
    UNROLL for (idx j = 0; j < A; j++) {
      vec d[6];
      UNROLL for (idx i = 0; i < A; i++) d[i] = ld(src + i * row + j * VL);
      input_line(s.M, d);
      UNROLL for (idx i = 0; i < A; i++) m[i * A + j] = d[i];
    }
    float* o = V + (b * s.TB + t - t0) * VL;
    UNROLL for (idx i = 0; i < A; i++) {
      vec d[6];
      UNROLL for (idx j = 0; j < A; j++) d[j] = m[i * A + j];
      input_line(s.M, d);
      UNROLL for (idx j = 0; j < A; j++) st(o + (i * A + j) * pos, d[j]);
    }
  }
}
/// Output blocks [b0, b1) of tiles [t0, t1).
INL void winograd_output(const Winograd& s, const float* Mb, const float* bias, const float* res, float* out, idx b0,
                         idx b1, idx t0, idx t1) {
  const idx A = s.M + 2, pos = position_step(cdiv(s.OC, VL), s.TB), TW = cdiv(s.OW, s.M);
  ROLL for (idx b = b0; b < b1; b++) ROLL for (idx t = t0; t < t1; t++) {
    const idx y = t / TW * s.M, x = t % TW * s.M;
    const float* src = Mb + (b * s.TB + t - t0) * VL;
    vec m[24];
    UNROLL for (idx j = 0; j < A; j++) {
      vec d[6];
      UNROLL for (idx i = 0; i < A; i++) d[i] = ld(src + (i * A + j) * pos);
      output_line(s.M, d);
      UNROLL for (idx i = 0; i < s.M; i++) m[i * A + j] = d[i];
    }
    UNROLL for (idx i = 0; i < s.M; i++) {
      vec d[6];
      UNROLL for (idx j = 0; j < A; j++) d[j] = m[i * A + j];
      output_line(s.M, d);
      UNROLL for (idx j = 0; j < s.M; j++) {
        if (y + i >= s.OH || x + j >= s.OW) continue;
        const idx o = ((b * s.OH + y + i) * s.OW + x + j) * VL;
        vec v = d[j];
        if (s.tail.bits & kBias) v += ld(bias + b * VL);
        st(out + o, finish(v, s.tail, bias + b * VL, res + o));
      }
    }
  }
}
/// All positions of the product for oc groups [g0, g1); nt tiles, rounded up to whole register tiles (TB is a multiple).
INL void winograd_product(const Winograd& s, const float* V, const float* U, float* Mb, idx g0, idx g1, idx nt) {
  const idx sU = cdiv(s.OC, VL) * VL * s.IC;
  const idx WT = HINT(s, WT), whole = cdiv(nt, WT);
  const PointwiseShape p = {s.OCB, WT, s.IC, idx(1) << 20, HINT(s, PF), {}, s.IC, s.TB, s.TB, s.OC};
  ROLL for (idx at = 0; at < (s.M + 2) * (s.M + 2); at++) {
    const float* u = U + at * sU;
    pointwise(p, V + at * position_step(cdiv(s.IC, VL), s.TB), u, nullptr, nullptr,
              Mb + at * position_step(cdiv(s.OC, VL), s.TB), u + sU + g0 * s.OCB * VL * s.IC, g0, g1, 0, GENERAL ? imin(s.TB, whole * WT) : whole);
  }
}

}  // namespace k

/// args: in, weights, bias, out, residual. by_tiles: units = N * ceil(tiles / WT), done in blocks of TB tiles (a multiple
/// of WT); scratch = V and M of a block. Else units = oc groups of one image (N = 1, all tiles in one block): each thread transforms the whole input once
/// per run (sharing V between cores costs more) and notes in the scratch header (compiler/op.hpp) that it did.
TEMPLATE(k_winograd, Winograd, l) {
  using namespace k;
  const Winograd s = l;  // copied as in conv.hpp
  const idx T = cdiv(l.OW, l.M) * cdiv(l.OH, l.M), A2 = (l.M + 2) * (l.M + 2), nob = cdiv(l.OC, VL), groups = cdiv(nob, l.OCB);
  const float *U = (const float*)args[1], *bias = (const float*)args[2];
  float *V = (float*)scratch, *Mb = V + A2 * position_step(cdiv(l.IC, VL), l.TB);
#if GENERAL  // both ways by one body
  uint64_t* header = (uint64_t*)scratch - 8;
  const idx units = cdiv(T, l.WT), n1 = l.by_tiles ? cdiv(u1, units) : 1;
  ROLL for (idx n = l.by_tiles ? u0 / units : 0; n < n1; n++) {
    const idx end = l.by_tiles ? imin(T, (u1 - n * units) * l.WT) : T;
    ROLL for (idx t0 = l.by_tiles ? imax(0, u0 - n * units) * l.WT : 0; t0 < end; t0 += l.TB) {
      const idx t1 = imin(end, t0 + l.TB);
      if (l.by_tiles || header[1] != header[0]) winograd_input(s, (const float*)args[0] + n * l.in_image, V, t0, t1);
      if (!l.by_tiles) header[1] = header[0];
      winograd_product(s, V, U, Mb, l.by_tiles ? 0 : u0, l.by_tiles ? groups : u1, t1 - t0);
      winograd_output(s, Mb, bias, (const float*)args[4] + n * l.res_image, (float*)args[3] + n * l.out_image, l.by_tiles ? 0 : imin(nob, u0 * l.OCB),
                      l.by_tiles ? nob : imin(nob, u1 * l.OCB), t0, t1);
    }
  }
  return;
#endif
  if (l.by_tiles) {
    const idx units = cdiv(T, l.WT);
    ROLL for (idx n = u0 / units; n * units < u1; n++) {
      const idx end = imin(T, (u1 - n * units) * l.WT);
      ROLL for (idx t0 = imax(0, u0 - n * units) * l.WT; t0 < end; t0 += l.TB) {
        const idx t1 = imin(end, t0 + l.TB);
        winograd_input(s, (const float*)args[0] + n * l.in_image, V, t0, t1);
        winograd_product(s, V, U, Mb, 0, groups, t1 - t0);
        winograd_output(s, Mb, bias, (const float*)args[4] + n * l.res_image, (float*)args[3] + n * l.out_image, 0, nob, t0, t1);
      }
    }
  } else {
    uint64_t* header = (uint64_t*)scratch - 8;
    if (header[1] != header[0]) winograd_input(s, (const float*)args[0], V, 0, T), header[1] = header[0];
    winograd_product(s, V, U, Mb, u0, u1, T);
    winograd_output(s, Mb, bias, (const float*)args[4], (float*)args[3], imin(nob, u0 * l.OCB), imin(nob, u1 * l.OCB), 0, T);
  }
}
#endif
