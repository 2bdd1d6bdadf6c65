// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: products of two computed matrices of codes, batched: what attention multiplies.
//
// With zero points za and zb: sum (a - za)(b - zb) = sum a b - za sum b - zb sum a + K za zb. Sums over B's columns come for free where B is
// packed; those over A's rows (k_codes_sums) are wanted only where zb is not 0.
#pragma once
#include "plugins/llvm_cpu/kernels/parts/codes_panel.hpp"
#include "plugins/llvm_cpu/kernels/parts/codes_tail.hpp"

namespace k {

/// C[M][N] of b0 x b1 batches, which follow one another. A's rows are quads * 4 bytes after each other; batch (i, j) begins at row i*ra0 + j*ra1.
struct CodesMatmul {
  static constexpr char entry[] = "k_codes_matmul";
  static constexpr void sizes(auto& l, auto mark) {
    mark(l.mb, l.M, l.N, l.quads, l.b.K, l.b.sbk, l.b.sbn, l.b1, l.ra0, l.ra1, l.sb0, l.sb1);
    mark_columns(l.tail, mark);
  }
  static constexpr void hints(auto& l, auto mark) { mark(l.OCB, l.WT); }
  static constexpr int64_t tile_hints = 0;  // remainders have a body for each width
  static constexpr bool has_tile = true;
  Dot dot;
  int64_t OCB, WT;
  int64_t mb;        ///< rows per unit, a multiple of WT
  CodesTail tail;
  int64_t has_rows;  ///< a number per row of A is given
  int64_t M, N, quads;
  CodesPanel b;
  int64_t b1, ra0, ra1, sb0, sb1;
};
/// out = -(zero point of B) * (sum of a row of A).
struct CodesSums {
  static constexpr char entry[] = "k_codes_sums";
  static constexpr void sizes(auto& l, auto mark) { mark(l.K, l.step); }
  int64_t is_signed, K, step;  ///< bytes from row to row
};

}  // namespace k

#ifdef VW  // the template, which only clang compiles
#include "plugins/llvm_cpu/kernels/parts/powers.hpp"

namespace k::codes_matmul {

/// Rows [m, m + wt) of a batch whose rows are numbers [row, ..) of A and [q, ..) of C, times OB blocks of columns from c0 on.
INL void tile(const CodesMatmul& l, idx OB, idx wt, Last last, void* const* args, idx row, idx q, idx c0, const int32_t* bias, const char* w) {
  ivec acc[32];
  UNROLL for (idx p = 0; p < wt; p++) {
    const int32_t r = l.has_rows ? ((const int32_t*)args[4])[row + p] : 0;
    UNROLL for (idx o = 0; o < OB; o++) acc[o * wt + p] = *(const ivecu*)(bias + o * VL) + r;
  }
  const char* nothing = w;
  codes_run(l.dot, OB, wt, l.quads * 4, (const uint8_t*)args[0] + row * l.quads * 4, w, l.quads, acc, false, nothing, 0);
  const vec scale = splat(*(const float*)args[3]);
  codes_finish(l.tail, (const float*)args[5], args + 7, args[6], l.N, OB, wt, last, c0, q, [&](idx o, idx p) __attribute__((always_inline)) {
    return __builtin_convertvector(acc[o * wt + p], vec) * scale;
  });
}

#if GENERAL
/// A group of `all` blocks of columns from b and c0 on, whatever number the plan put into one, the last one of `lanes`: in widths that this kernel
/// was made for, then in powers of two; each packs its columns. Rows [m0, m1) likewise.
INL void any_columns(const CodesMatmul& l, idx all, idx lanes, void* const* args, const uint8_t* b, idx row, idx q, idx c0, idx m0, idx m1, char* w, int32_t* bias) {
  const idx most = HINT(l, OCB), WT = HINT(l, WT);
  const auto columns = [&](idx first, idx OB) __attribute__((always_inline)) {
    const Last last = {first + OB == all ? lanes : VL, IS_SLOT(l, N) || l.N % VL != 0};
    panel::pack(l.dot, l.b, l.quads, OB, last.lanes, b + first * VL * l.b.sbn, (const int32_t*)args[2], w, bias);
    const auto rows = [&](idx m, idx wt) __attribute__((always_inline)) { tile(l, OB, wt, last, args, row + m, q + m, c0 + first * VL, bias, w); };
    idx m = m0;
    ROLL for (; m + WT <= m1; m += WT) rows(m, WT);
    powers(WT, m1 - m, [&](idx at, idx wt) __attribute__((always_inline)) { rows(m + at, wt); });
  };
  idx first = 0;
  ROLL for (; first + most <= all; first += most) columns(first, most);
  powers(most, all - first, [&](idx at, idx OB) __attribute__((always_inline)) { columns(first + at, OB); });
}
#endif

}  // namespace k::codes_matmul

/// args: A, B, zero points (kProductNumbers), scale (float), number per row of A (I32) or null, numbers of the tail, C, operands of the
/// tail's steps. units = batches * ceil(M / mb) * ceil(ceil(N / VL) / OCB). scratch: OCB * VL * (4 + quads * 4), Pairs: (4 + quads * 8) bytes.
TEMPLATE(k_codes_matmul, CodesMatmul, l) {
  using namespace k;
  const idx nb = cdiv(l.N, VL), groups = cdiv(nb, l.OCB), parts = cdiv(l.M, l.mb), rest = l.N - (nb - 1) * VL;
  int32_t* const bias = (int32_t*)scratch;
  char* const w = scratch + l.OCB * VL * 4;
  ROLL for (idx u = u0; u < u1; u++) {
    const idx g = u % groups, part = u / groups % parts, batch = u / (groups * parts), i0 = batch / l.b1, i1 = batch % l.b1;
    const idx c0 = g * l.OCB * VL, m0 = part * l.mb, m1 = imin(l.M, m0 + l.mb), row = i0 * l.ra0 + i1 * l.ra1, q = batch * l.M;
    const uint8_t* b = (const uint8_t*)args[1] + i0 * l.sb0 + i1 * l.sb1 + c0 * l.b.sbn;
#if GENERAL
    codes_matmul::any_columns(l, imin(l.OCB, nb - g * l.OCB), g < groups - 1 ? VL : rest, args, b, row, q, c0, m0, m1, w, bias);
    continue;
#endif
    const auto group = [&](idx OB, idx last) __attribute__((always_inline)) {
      panel::pack(l.dot, l.b, l.quads, OB, last, b, (const int32_t*)args[2], w, bias);
      const idx even = m0 + (m1 - m0) / l.WT * l.WT;
      ROLL for (idx m = m0; m < even; m += l.WT) codes_matmul::tile(l, OB, l.WT, {last, false}, args, row + m, q + m, c0, bias, w);
      if (l.M % l.WT && m1 == l.M) codes_matmul::tile(l, OB, l.M % l.WT, {last, false}, args, row + even, q + even, c0, bias, w);
    };
    if (g < groups - 1) group(l.OCB, VL);
    else group(nb - (groups - 1) * l.OCB, rest);
  }
}

/// args: A, zero points (kProductNumbers), out (I32). units: rows.
TEMPLATE(k_codes_sums, CodesSums, l) {
  ROLL for (int64_t u = u0; u < u1; u++) {
    const auto* row = (const uint8_t*)args[0] + u * l.step;
    int32_t sum = 0;
    if (l.is_signed) for (int64_t i = 0; i < l.K; i++) sum += (int8_t)row[i];
    else for (int64_t i = 0; i < l.K; i++) sum += row[i];
    ((int32_t*)args[2])[u] = -((const int32_t*)args[1])[1] * sum;
  }
}
#endif
