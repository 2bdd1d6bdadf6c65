// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: the blocked matrix product behind 1x1 convolution and the Winograd positions.
#pragma once
#include "plugins/llvm_cpu/kernels/parts/dense.hpp"

namespace k {

struct PointwiseShape {
  idx OCB, WT, ICC, TB, PF;
  Tail tail;
  idx IC, P, sP, OC;  // sP: pixels per channel block in memory, at least P
  idx ahead = 0;      // see TileShape
};

/// General: t0, t1 and TB count pixels. Tiles [t0, t1) of WT pixels, oc groups [g0, g1). next: what this thread reads after its last panel (prefetched).
INL void pointwise(const PointwiseShape& s, const float* in, const float* w, const float* bias, const float* res, float* out,
                   const float* next, idx g0, idx g1, idx t0, idx t1) {
  const idx nb = cdiv(s.OC, VL), full = nb / s.OCB, groups = cdiv(nb, s.OCB), sB = s.sP * VL;
  ROLL for (idx tb = t0; tb < t1; tb += s.TB) {
    const idx te = imin(t1, tb + s.TB);
    auto group = [&](idx g, idx OB) __attribute__((always_inline)) {
      const float* wg = w + g * s.OCB * VL * s.IC;
      ROLL for (idx c0 = 0; c0 < s.IC; c0 += s.ICC) {
        const idx n = imin(s.ICC, s.IC - c0);
        const bool first = c0 == 0, last = c0 + s.ICC >= s.IC;
        const float* wp = wg + c0 * OB * VL;
        const char* pf = (const char*)(last && g + 1 == imin(g1, groups) ? next : wp + n * OB * VL);
        const char* pfe = pf + imin(s.ICC, last ? s.IC : s.IC - c0 - s.ICC) * OB * VL * 4;
        auto run = [&](idx t, idx wt) __attribute__((always_inline)) {
          const TileShape shape = {OB, wt, 1, 1, 1, 1, 1, 1, 1, VL, s.PF, s.tail, VL, 0, 0, sB, sB, VL, false, s.ahead};
          const idx o = (GENERAL ? t : t * s.WT) * VL, go = g * s.OCB * sB + o;
          pf = tile(shape, 0, 0, n, 0, 1, 0, 1, first, last, in, c0 / VL * sB + o, wp, bias + g * s.OCB * VL, res + go,
                    out + go, pf, pf < pfe ? 64 : 0);
        };
#if GENERAL
        idx p = tb;
        ROLL for (; p + s.WT <= te; p += s.WT) run(p, s.WT);
        powers(s.WT, te - p, [&](idx at, idx width) __attribute__((always_inline)) { run(p + at, width); });
#else
        ROLL for (idx t = tb; t < imin(te, s.P / s.WT); t++) run(t, s.WT);
        if (s.P % s.WT && te > s.P / s.WT) run(s.P / s.WT, s.P % s.WT);
#endif
      }
    };
    ROLL for (idx g = g0; g < imin(g1, full); g++) group(g, s.OCB);
    if (nb % s.OCB && g1 > full) group(full, nb % s.OCB);
  }
}

}  // namespace k
