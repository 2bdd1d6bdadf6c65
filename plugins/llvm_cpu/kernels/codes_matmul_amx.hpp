// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: what k_codes_matmul does, by the tile registers of AMX (codes_amx.hpp). x86-64 with 16 floats per vector only.
#pragma once
#include "plugins/llvm_cpu/kernels/codes_amx.hpp"
#include "plugins/llvm_cpu/kernels/parts/codes_panel.hpp"

namespace k {

struct CodesMatmulAmx {
  static constexpr char entry[] = "k_codes_matmul_amx";
  static constexpr const char* matrix(const CodesMatmulAmx&) { return "amx-int8"; }
  static constexpr void sizes(auto& l, auto mark) {
    mark(l.mb, l.rows, l.M, l.N, l.quads, l.b.K, l.b.sbk, l.b.sbn, l.b1, l.ra0, l.ra1, l.sb0, l.sb1);
    mark_columns(l.tail, mark);
  }
  int64_t mb;        ///< rows per unit, a multiple of `rows`
  CodesTail tail;
  int64_t has_rows;  ///< a number per row of A is given
  int64_t rows;      ///< of a tile; the last one of a batch overlaps the one before
  int64_t M, N, quads;
  CodesPanel b;
  int64_t b1, ra0, ra1, sb0, sb1;
};

}  // namespace k

#ifdef VW  // the template, which only clang compiles

namespace k::matmul_amx {

INL void finish(const CodesMatmulAmx& l, idx B, Last last, void* const* args, idx row, idx q, idx c0, const int32_t* bias, const char* sums) {
  const vec scale = splat(*(const float*)args[3]);
  amx::pieces(l.rows, [&](idx p0, idx count) __attribute__((always_inline)) {
    codes_finish(l.tail, (const float*)args[5], args + 7, args[6], l.N, B, count, last, c0, q + p0, [&](idx o, idx p) __attribute__((always_inline)) {
      const ivec sum = *(const ivecu*)(sums + o * 1024 + (p0 + p) * 64) + *(const ivecu*)(bias + o * VL);
      return __builtin_convertvector(sum + (l.has_rows ? ((const int32_t*)args[4])[row + p0 + p] : 0), vec) * scale;
    });
  });
}

/// Rows [m0, m1) of a batch, whose row 0 is number `row` of A and q of C, times B blocks of columns from c0 on.
INL void group(const CodesMatmulAmx& l, idx B, Last last, void* const* args, idx m0, idx m1, idx row, idx q, idx c0, const int32_t* bias, const char* w, char* sums) {
  const CodesAmx s{.tail = l.tail, .by_tiles = 0, .OC = l.N, .float_bias = 0, .quads = l.quads, .runs = {1, 1, 1}, .run_step = {0, 0, 0}, .N = 1, .out = {1, 1, l.M},
                   .rows = l.rows, .in_image = 0, .in_step = {0, 0, l.quads * 4}, .out_pixel = l.N, .fetch = 0};
  const char* nothing = w;
  const auto at = [&](idx m) __attribute__((always_inline)) { return (const uint8_t*)args[0] + (row + m) * l.quads * 4; };
  ROLL for (idx m = m0; m < m1; m += 2 * l.rows) {
    const idx a = imin(m, l.M - l.rows), b = imin(m + l.rows, l.M - l.rows);
    if (m + l.rows < m1) amx::multiply(s, 2, B, at(a), at(b), w, sums, nothing);
    else amx::multiply(s, 1, B, at(a), at(a), w, sums, nothing);
    finish(l, B, last, args, row + a, q + a, c0, bias, sums);
    if (m + l.rows < m1) finish(l, B, last, args, row + b, q + b, c0, bias, sums + 2048);
  }
}

}  // namespace k::matmul_amx

/// args: as k_codes_matmul. units = batches * ceil(M / mb) * ceil(ceil(N / VL) / kAmxBlocks). scratch: kAmxScratch + kAmxBlocks * VL *
/// (4 + quads * 4) bytes. Requires 4 <= rows <= M, quads a multiple of 16.
TEMPLATE(k_codes_matmul_amx, CodesMatmulAmx, l) {
  using namespace k;
  const idx nb = cdiv(l.N, VL), groups = cdiv(nb, kAmxBlocks), parts = cdiv(l.M, l.mb), rest = l.N - (nb - 1) * VL;
  char* const sums = scratch + 64;
  int32_t* const bias = (int32_t*)(scratch + kAmxScratch);
  char* const w = scratch + kAmxScratch + kAmxBlocks * VL * 4;
  amx::configure(scratch, l.rows);
  ROLL for (idx u = u0; u < u1; u++) {
    const idx g = u % groups, part = u / groups % parts, batch = u / (groups * parts), i0 = batch / l.b1, i1 = batch % l.b1;
    const idx c0 = g * kAmxBlocks * VL, m0 = part * l.mb, row = i0 * l.ra0 + i1 * l.ra1;
    const uint8_t* b = (const uint8_t*)args[1] + i0 * l.sb0 + i1 * l.sb1 + c0 * l.b.sbn;
    const auto any = [&](idx B, idx last) __attribute__((always_inline)) {
      panel::pack(Dot::Vnni, l.b, l.quads, B, last, b, (const int32_t*)args[2], w, bias);
      matmul_amx::group(l, B, {last, GENERAL && (IS_SLOT(l, N) || rest < VL)}, args, m0, imin(l.M, m0 + l.mb), row, batch * l.M, c0, bias, w, sums);
    };
#if GENERAL
    const idx last = g < groups - 1 ? VL : rest;
    if (nb - g * kAmxBlocks > 1) any(kAmxBlocks, last);
    else any(1, last);
    continue;
#endif
    if (g < groups - 1) any(kAmxBlocks, VL);
    else any(nb - (groups - 1) * kAmxBlocks, rest);
  }
  amx::release();
}
#endif
