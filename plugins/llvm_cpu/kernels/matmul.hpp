// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: C = act(alpha A B + bias + addend) + residual, batched, any strides, one register tile.
//
// B lies in panels of nb*VL columns: [group][k][nb][VL] with a narrower last group (Pack::Dense with oc = N, ic = K). It is
// packed when the artifact is loaded, or, when computed, by each unit into its scratch. mr rows x nb vectors of C live in
// registers over the whole of K; per k: nb loads, mr broadcasts, mr*nb multiply-adds. A is read where it lies, so A, B and C
// may be transposed views. A panel (K * nb * VL floats) should fit half of L2.
#pragma once
#include "plugins/llvm_cpu/kernels/parts/tail.hpp"

namespace k {

enum class MatmulB : int64_t {
  Packed,   ///< when the artifact is loaded
  Dynamic,  ///< packed here from any strides
  InPlace,  ///< read where it lies: column stride 1, N a multiple of VL
};
/// Bits of Matmul::epilogue, in this order: a number per column; one per row; a matrix that lies as C does; the activation;
/// another such matrix.
constexpr int64_t kColumnBias = 1, kRowBias = 2, kAddend = 4, kResidualMatrix = 8;
struct Matmul {
  static constexpr char entry[] = "k_matmul";
  static constexpr void sizes(auto& l, auto mark) { mark(l.mb, l.M, l.N, l.K, l.sam, l.sak, l.sbk, l.sbn, l.scm, l.b1, l.sa0, l.sa1, l.sb0, l.sb1, l.sc0, l.sc1); }
  static constexpr void hints(auto& l, auto mark) { mark(l.mr, l.nb, l.in_place, l.ahead); }
  static constexpr int64_t tile_hints = 2;
  static constexpr bool rests_in_one = true;
  int64_t mr, nb, mb;
  int64_t packed, in_place;  ///< which MatmulB; a general kernel does both ways of a computed B
  int64_t ahead, epilogue;
  Activation act;
  double alpha;
  int64_t M, N, K, sam, sak, sbk, sbn, scm;
  int64_t b1, sa0, sa1, sb0, sb1, sc0, sc1;
};

}  // namespace k

#ifdef VW  // the template, which only clang compiles
#include "plugins/llvm_cpu/kernels/parts/activation.hpp"
#include "plugins/llvm_cpu/kernels/parts/lanes.hpp"
#include "plugins/llvm_cpu/kernels/parts/powers.hpp"
#include "plugins/llvm_cpu/kernels/parts/math.hpp"

namespace k::matmul {

struct Place {  // pointers at row 0 of a batch; bias and the epilogue at the group's first column
  const float *a, *bias, *rowbias, *addend, *residual;
  float* c;
};

// Rows [m, m + mr), one panel of nb vectors whose k rows are sb floats apart; the last vector has `lanes` columns.
// prefetch: fetches B `ahead` bytes before it is read.
INL void tile(idx mr, idx nb, idx lanes, const Matmul& s, const float* b, idx sb, const Place& at, idx m, bool prefetch, idx ahead = 0) {
  vec acc[32];
  UNROLL for (idx i = 0; i < mr * nb; i++) acc[i] = vec{};
  const float* a = at.a + m * s.sam;
  ROLL for (idx k = 0; k < s.K; k++) {
    BARRIER;
    vec w[8];
    UNROLL for (idx n = 0; n < nb; n++) w[n] = ld(b + n * VL);
    UNROLL for (idx i = 0; i < mr; i++) {
      const float x = a[i * s.sam];
      UNROLL for (idx n = 0; n < nb; n++) acc[i * nb + n] += w[n] * x;
    }
    if (prefetch) UNROLL for (idx n = 0; n < nb; n += (64 / (VL * 4) > 0 ? 64 / (VL * 4) : 1)) __builtin_prefetch((const char*)(b + n * VL) + ahead, 0, 2);
    a += s.sak, b += sb;
  }
  UNROLL for (idx i = 0; i < mr; i++) UNROLL for (idx n = 0; n < nb; n++) {
    const idx l = n == nb - 1 ? lanes : VL, c = (m + i) * s.scm + n * VL;
    vec v = acc[i * nb + n];
    if (s.alpha != 1.0) v *= (float)s.alpha;
    if (s.epilogue & kColumnBias) v += ld_part(at.bias + n * VL, l, 0);
    if (s.epilogue & kRowBias) v += at.rowbias[m + i];
    if (s.epilogue & kAddend) v += ld_part(at.addend + c, l, 0);
    v = activate(v, s.act);
    if (s.epilogue & kResidualMatrix) v += ld_part(at.residual + c, l, 0);
    st_part(at.c + c, v, l);
  }
}

// One panel of nb vectors; columns past `cols` are 0.
INL void pack_panel(idx nb, idx cols, const Matmul& s, const float* b, float* to) {
  const idx full = cols / VL, rest = cols % VL, width = nb * VL;
  if (s.sbn == 1) {
    ROLL for (idx k = 0; k < s.K; k++) {
#if GENERAL
      UNROLL for (idx n = 0; n < nb - 1; n++) st(to + k * width + n * VL, ld(b + k * s.sbk + n * VL));
      st(to + k * width + (nb - 1) * VL, ld_part(b + k * s.sbk + (nb - 1) * VL, cols - (nb - 1) * VL, 0));
      continue;
#endif
      UNROLL for (idx n = 0; n < nb; n++) st(to + k * width + n * VL, n < full ? ld(b + k * s.sbk + n * VL) : ld_part(b + k * s.sbk + n * VL, imax(0, cols - n * VL), 0));
    }
    return;
  }
  const idx even = s.sbk == 1 ? s.K / VL * VL : 0;
  ROLL for (idx n = 0; n < full; n++) ROLL for (idx k = 0; k < even; k += VL) {
    vec r[VL];
    UNROLL for (idx l = 0; l < VL; l++) r[l] = ld(b + (n * VL + l) * s.sbn + k);
    transpose(r);
    UNROLL for (idx l = 0; l < VL; l++) st(to + (k + l) * width + n * VL, r[l]);
  }
  ROLL for (idx k = even; k < s.K; k++) ROLL for (idx j = 0; j < full * VL; j++) to[k * width + j] = b[k * s.sbk + j * s.sbn];
  if (rest) ROLL for (idx k = 0; k < s.K; k++) {
    ROLL for (idx j = full * VL; j < cols; j++) to[k * width + j] = b[k * s.sbk + j * s.sbn];
    ROLL for (idx j = cols; j < (full + 1) * VL; j++) to[k * width + j] = 0;
  }
}

#if GENERAL
// Rows [m0, m1) by `all` vectors of columns, the first one of them number `first` of a group of `whole`.
INL void columns(const Matmul& s, idx first, idx all, idx whole, idx lanes, const float* b, Place at, idx m0, idx m1, float* scratch) {
  const idx mr = HINT(s, mr);
  const float* from = s.packed ? b + first * VL : b + first * VL * s.sbn;
  if (!s.packed && !s.in_place) pack_panel(all, (all - 1) * VL + lanes, s, from, scratch), from = scratch;
  const idx sb = s.packed ? whole * VL : s.in_place ? s.sbk : all * VL;
  at.bias += s.epilogue & kColumnBias ? first * VL : 0, at.addend += s.epilogue & kAddend ? first * VL : 0;
  at.residual += s.epilogue & kResidualMatrix ? first * VL : 0, at.c += first * VL;
  const bool fetches = s.packed && HINT(s, ahead) > 0;
  idx m = m0;
  const idx ahead = HINT(s, ahead);
  if (fetches && m + mr <= m1) tile(mr, all, lanes, s, from, sb, at, m, true, ahead), m += mr;
  ROLL for (; m + mr <= m1; m += mr) tile(mr, all, lanes, s, from, sb, at, m, false);
  // in one: each piece would read B again
  exactly(mr, m1 - m, [&](idx rows) __attribute__((always_inline)) { tile(rows, all, lanes, s, from, sb, at, m, fetches, m == m0 ? ahead : 0); });
}
// A group of `all` vectors of columns, whatever number the plan put into one: in widths that this kernel was made for, then in powers of two.
INL void any_columns(const Matmul& s, idx all, idx lanes, const float* b, const Place& at, idx m0, idx m1, float* scratch) {
  const idx nb = HINT(s, nb);
  idx first = 0;
  ROLL for (; first + nb <= all; first += nb) columns(s, first, nb, all, first + nb == all ? lanes : VL, b, at, m0, m1, scratch);
  powers(nb, all - first, [&](idx before, idx some) __attribute__((always_inline)) {
    columns(s, first + before, some, all, first + before + some == all ? lanes : VL, b, at, m0, m1, scratch);
  });
}
#endif

}  // namespace k::matmul

// args: A, B, bias, row bias, addend, residual, C. Batch (i, j) of b0 x b1 starts at i*sa0 + j*sa1 in A and so on. units: b0 * b1 * ceil(M / mb) * ceil(ceil(N / VL) / nb), groups of columns fastest. mb is a multiple of mr.
// scratch: K * nb * VL floats when B is Dynamic. B packed: sb0, sb1 are steps between packed matrices.
TEMPLATE(k_matmul, Matmul, l) {
  using namespace k;
  using namespace k::matmul;
  const idx blocks = cdiv(l.N, VL), groups = cdiv(blocks, l.nb), rows = cdiv(l.M, l.mb), tail = l.N - (blocks - 1) * VL;
  ROLL for (idx u = u0; u < u1; u++) {
    const idx g = u % groups, block = u / groups % rows, batch = u / (groups * rows), i0 = batch / l.b1, i1 = batch % l.b1;
    const idx n0 = g * l.nb * VL, m0 = block * l.mb, m1 = imin(l.M, m0 + l.mb), c0 = i0 * l.sc0 + i1 * l.sc1 + n0;
    const float* matrix = (const float*)args[1] + i0 * l.sb0 + i1 * l.sb1;
    const Place at{(const float*)args[0] + i0 * l.sa0 + i1 * l.sa1, (const float*)args[2] + (l.epilogue & kColumnBias ? n0 : 0), (const float*)args[3],
                   (const float*)args[4] + (l.epilogue & kAddend ? c0 : 0), (const float*)args[5] + (l.epilogue & kResidualMatrix ? c0 : 0), (float*)args[6] + c0};
#if GENERAL
    const float* panel = l.packed ? matrix + n0 * l.K : matrix + n0 * l.sbn;
    any_columns(l, imin(l.nb, blocks - g * l.nb), g < groups - 1 ? VL : tail, panel, at, m0, m1, (float*)scratch);
    continue;
#endif
    const auto group = [&](idx width, idx lanes) __attribute__((always_inline)) {
      const float* b = l.packed ? matrix + n0 * l.K : matrix + n0 * l.sbn;
      if (!l.packed && !l.in_place) pack_panel(width, (width - 1) * VL + lanes, l, b, (float*)scratch), b = (const float*)scratch;
      const idx sb = l.in_place ? l.sbk : width * VL, even = m0 + (m1 - m0) / l.mr * l.mr;
      const bool first = l.packed && l.ahead > 0;
      if (first && m0 < even) tile(l.mr, width, lanes, l, b, sb, at, m0, true, l.ahead);
      ROLL for (idx m = first ? m0 + l.mr : m0; m < even; m += l.mr) tile(l.mr, width, lanes, l, b, sb, at, m, false);
      if (l.M % l.mr && m1 == l.M) tile(l.M % l.mr, width, lanes, l, b, sb, at, l.M / l.mr * l.mr, first && l.M < l.mr, l.ahead);
    };
    if (g < groups - 1) group(l.nb, VL);
    else group(blocks - (groups - 1) * l.nb, tail);
  }
}
#endif
