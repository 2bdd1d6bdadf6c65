// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: C = act(alpha A B + bias + addend) + residual, batched, any strides, one register tile.
//
// B lies in panels of nb*VL columns: [group][k][nb][VL] with a narrower last group (Pack::Dense with oc = N, ic = K). It is
// packed when the artifact is loaded, or, when computed, by each unit into its scratch. mr rows x nb vectors of C live in
// registers over the whole of K; per k: nb loads, mr broadcasts, mr*nb multiply-adds. A is read where it lies, so A, B and C
// may be transposed views. A panel (K * nb * VL floats) should fit half of L2.
#include "plugins/llvm_cpu/kernels/activation.hpp"
#include "plugins/llvm_cpu/kernels/lanes.hpp"
#include "plugins/llvm_cpu/kernels/math.hpp"
#include "plugins/llvm_cpu/kernels/tail.hpp"

namespace k::matmul {

/// How B arrives: packed at load, packed here from any strides, or read in place (column stride 1, N a multiple of VL).
enum { Packed, Dynamic, InPlace };
/// Epilogue bits, in this order: Bias, a number per column; RowBias, per row; Addend, a matrix that lies as C does; the
/// activation; Residual, another such matrix.
enum { Bias = 1, RowBias = 2, Addend = 4, Residual = 8 };

struct Shape {
  idx sam, sak, sbk, sbn, scm, K, ahead;
  int64_t ep, act;
  float alpha, lo, hi;
};
struct Place {  // pointers at row 0 of a batch; bias and the epilogue at the group's first column
  const float *a, *bias, *rowbias, *addend, *residual;
  float* c;
};

// Rows [m, m + mr), one panel of nb vectors whose k rows are sb floats apart; the last vector has `lanes` columns.
INL void tile(idx mr, idx nb, idx lanes, const Shape& s, const float* b, idx sb, const Place& at, idx m, bool prefetch) {
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
    if (prefetch) UNROLL for (idx n = 0; n < nb; n += (64 / (VL * 4) > 0 ? 64 / (VL * 4) : 1)) __builtin_prefetch((const char*)(b + n * VL) + s.ahead, 0, 2);
    a += s.sak, b += sb;
  }
  UNROLL for (idx i = 0; i < mr; i++) UNROLL for (idx n = 0; n < nb; n++) {
    const idx l = n == nb - 1 ? lanes : VL, c = (m + i) * s.scm + n * VL;
    vec v = acc[i * nb + n];
    if (s.alpha != 1.f) v *= s.alpha;
    if (s.ep & Bias) v += ld_part(at.bias + n * VL, l, 0);
    if (s.ep & RowBias) v += at.rowbias[m + i];
    if (s.ep & Addend) v += ld_part(at.addend + c, l, 0);
    v = activate(v, s.act, s.lo, s.hi);
    if (s.ep & Residual) v += ld_part(at.residual + c, l, 0);
    st_part(at.c + c, v, l);
  }
}

// One panel of nb vectors; columns past `cols` are 0.
INL void pack_panel(idx nb, idx cols, const Shape& s, const float* b, float* to) {
  const idx full = cols / VL, rest = cols % VL, width = nb * VL;
  if (s.sbn == 1) {
    ROLL for (idx k = 0; k < s.K; k++) {
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

}  // namespace k::matmul

// args: A, B, bias, row bias, addend, residual, C. Batch (i, j) of b0 x b1 starts at i*sa0 + j*sa1 in A and so on. units: b0 * b1 * ceil(M / mb) * ceil(ceil(N / VL) / nb), groups of columns fastest. mb is a multiple of mr.
// scratch: K * nb * VL floats when B is Dynamic. B packed: sb0, sb1 are steps between packed matrices.
TEMPLATE(k_matmul, int64_t mr, int64_t nb, int64_t mb, int64_t mode, int64_t ahead, int64_t ep, int64_t act, float alpha,
         float lo, float hi, int64_t M, int64_t N, int64_t K, int64_t sam, int64_t sak, int64_t sbk, int64_t sbn, int64_t scm,
         int64_t b1, int64_t sa0, int64_t sa1, int64_t sb0, int64_t sb1, int64_t sc0, int64_t sc1) {
  using namespace k;
  using namespace k::matmul;
  const Shape s{sam, sak, sbk, sbn, scm, K, ahead, ep, act, alpha, lo, hi};
  const idx blocks = cdiv(N, VL), groups = cdiv(blocks, nb), rows = cdiv(M, mb), tail = N - (blocks - 1) * VL;
  ROLL for (idx u = u0; u < u1; u++) {
    const idx g = u % groups, block = u / groups % rows, batch = u / (groups * rows), i0 = batch / b1, i1 = batch % b1;
    const idx n0 = g * nb * VL, m0 = block * mb, m1 = imin(M, m0 + mb), c0 = i0 * sc0 + i1 * sc1 + n0;
    const float* matrix = (const float*)args[1] + i0 * sb0 + i1 * sb1;
    const Place at{(const float*)args[0] + i0 * sa0 + i1 * sa1, (const float*)args[2] + (ep & Bias ? n0 : 0), (const float*)args[3],
                   (const float*)args[4] + (ep & Addend ? c0 : 0), (const float*)args[5] + (ep & Residual ? c0 : 0), (float*)args[6] + c0};
    const auto group = [&](idx width, idx lanes) __attribute__((always_inline)) {
      const float* b = mode == Packed ? matrix + n0 * K : matrix + n0 * sbn;
      if (mode == Dynamic) pack_panel(width, (width - 1) * VL + lanes, s, b, (float*)scratch), b = (const float*)scratch;
      const idx sb = mode == InPlace ? sbk : width * VL, even = m0 + (m1 - m0) / mr * mr;
      const bool first = mode == Packed && ahead > 0;
      if (first && m0 < even) tile(mr, width, lanes, s, b, sb, at, m0, true);
      ROLL for (idx m = first ? m0 + mr : m0; m < even; m += mr) tile(mr, width, lanes, s, b, sb, at, m, false);
      if (M % mr && m1 == M) tile(M % mr, width, lanes, s, b, sb, at, M / mr * mr, first && M < mr);
    };
    if (g < groups - 1) group(nb, VL);
    else group(blocks - (groups - 1) * nb, tail);
  }
}
