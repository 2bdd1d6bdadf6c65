// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: products of floats that may be rounded to 8 bits with a constant matrix of codes of 4 or 8 bits (blocks.hpp). Each block of a row gets a scale of its
// own, its largest magnitude over 127, as MLAS has it where ONNX Runtime is allowed to (accuracy_level 4 of MatMulNBits); sums of a block are exact, and what a
// zero point takes from them is as many times the sum of the block's codes.
//
// The matrix lies by columns, and four codes of a column are a lane. Codes of 4 bits are words of eight: codes 0, 2, 4 and 6 of each are one lane of four bytes, the odd ones another. So
// a row has them in that order: the even ones of a word, then the odd ones; or, where lanes are along K, the even ones of VL words, then their odd ones.
#pragma once
#include "plugins/llvm_cpu/kernels/blocks.hpp"
#include "plugins/llvm_cpu/kernels/parts/codes.hpp"

namespace k {

constexpr int64_t kMostByteBlock = 1 << 15;  ///< sums of so many products of bytes stay within 32 bits
/// Codes that lie in a vector of the matrix; columns and blocks begin with one, or blocks are whole lanes of it.
constexpr int64_t byte_chunk(const BlockMatrix& m, int64_t vl) { return (m.bits == 4 ? 8 : 4) * vl; }
constexpr bool is_of_chunks(const BlockMatrix& m, int64_t vl) {
  const int64_t chunk = byte_chunk(m, vl);
  return m.by_columns && m.block <= kMostByteBlock && m.K % chunk == 0 && m.K % m.block == 0 && m.block % 16 == 0 && (chunk % m.block == 0 ? chunk / m.block <= vl / 2 : m.block % chunk == 0);
}

/// Rows of K floats as bytes, in the order in which they are multiplied: along: lanes are along K.
struct RoundRows {
  static constexpr char entry[] = "k_round_rows";
  int64_t bits, along, block, K;
};
/// kMostBlockRows rows at most: lanes are along K.
struct ByteRows {
  static constexpr char entry[] = "k_byte_rows";
  static constexpr void sizes(auto& l, auto mark) { mark(l.M); }
  Dot dot;
  BlockMatrix of;
  int64_t M, columns;  ///< rows; columns of a unit
};
/// Any number of rows: lanes are columns.
struct BytePanels {
  static constexpr char entry[] = "k_byte_panels";
  static constexpr void sizes(auto& l, auto mark) { mark(l.M); }
  Dot dot;
  BlockMatrix of;
  int64_t M;
};
constexpr int64_t kBytePanel = 2;  ///< vectors of columns of a unit of k_byte_panels

}  // namespace k

#ifdef VW  // the template, which only clang compiles
#include "plugins/llvm_cpu/kernels/parts/lanes.hpp"
#include "plugins/llvm_cpu/kernels/parts/powers.hpp"
#include "plugins/llvm_cpu/kernels/parts/math.hpp"

namespace k::block_bytes {

using blocks::spread;
using blocks::steps_along;

/// What a row's lanes are multiplied with: vector i of those that `codes` begins.
INL ivec lane_codes(const BlockMatrix& m, ivec codes, idx i) {
  if (m.bits == 8) return codes;
  return (i ? codes >> 4 : codes) & 0x0F0F0F0F;
}
typedef int8_t sixteen __attribute__((vector_size(16)));
/// Sixteen floats, times `times`, as bytes, which `total` gets, too. NaN: 0 (its block's scale is NaN).
INL sixteen rounded(const float* x, float times, ivec& total) {
  sixteen out;
  UNROLL for (idx i = 0; i < 16; i += VL) {
    const vec v = vmin(splat(127.f), vmax(splat(-127.f), __builtin_elementwise_rint(ld(x + i) * times)));
    const ivec code = __builtin_convertvector(v == v ? v : vec{}, ivec);
    total += code;
    const blocks::signed_bytes narrow = __builtin_convertvector(code, blocks::signed_bytes);
    __builtin_memcpy((char*)&out + i, &narrow, sizeof narrow);
  }
  return out;
}
/// The operands of a product.
struct Operands {
  const char *x, *codes;
  const float *x_scales, *x_sums, *scales;
  const void* zeros;
  float* y;
};

/// What zero points take off column n, in some lanes.
INL vec taken(const BlockMatrix& m, const Operands& o, idx r, idx n, idx s, idx lanes) {
  const idx at = n * steps_along(m) + s;
  const vec sums = ld_part(o.x_sums + r * steps_along(m) + s, lanes, 0) * ld_part(o.scales + at, lanes, 0);
  if (!m.has_zeros) return sums * (float)m.zero;
  vec zero{};
  if (lanes == VL) zero = __builtin_convertvector(blocks::wide((const char*)o.zeros + at, m.is_signed), vec);
  else UNROLL for (idx l = 0; l < VL; l++) if (l < lanes) zero[l] = (float)blocks::zero_of(m, o.zeros, at + l);
  return sums * zero;
}

/// Columns [n, n + C) of M rows.
INL void few_rows(Dot dot, const BlockMatrix& m, idx M, idx C, const Operands& o, idx n, idx ahead) {
  const idx chunk = byte_chunk(m, VL), parts = chunk / (4 * VL), steps = steps_along(m), column = m.K * m.bits / 8, B = chunk > m.block ? chunk / m.block : 1;
  vec sum[8];
  UNROLL for (idx i = 0; i < C * M; i++) sum[i] = vec{};
  if (m.has_zeros || m.zero) {
    ROLL for (idx s = 0; s + VL <= steps; s += VL) UNROLL for (idx i = 0; i < C * M; i++) sum[i] -= taken(m, o, i % M, n + i / M, s, VL);
    if (steps % VL) UNROLL for (idx i = 0; i < C * M; i++) sum[i] -= taken(m, o, i % M, n + i / M, steps / VL * VL, steps % VL);
  }
  ROLL for (idx k = 0; k < m.K; k += chunk) {
    ivec part[8], word[8];
    UNROLL for (idx i = 0; i < C * M; i++) part[i] = ivec{};
    UNROLL for (idx c = 0; c < C; c++) {
      const char* p = o.codes + (n + c) * column + k * m.bits / 8;
      __builtin_prefetch(p + ahead, 0, 2);
      __builtin_memcpy(&word[c], p, sizeof word[c]);
    }
    UNROLL for (idx i = 0; i < parts; i++) UNROLL for (idx r = 0; r < M; r++) {
      ivec x;
      __builtin_memcpy(&x, o.x + r * m.K + k + i * 4 * VL, sizeof x);
      UNROLL for (idx c = 0; c < C; c++) part[c * M + r] = dot_bytes(dot, part[c * M + r], lane_codes(m, word[c], i), x);
    }
    UNROLL for (idx c = 0; c < C; c++) {
      const vec scale = spread(o.scales + (n + c) * steps + k / m.block, B);
      UNROLL for (idx r = 0; r < M; r++) sum[c * M + r] += __builtin_convertvector(part[c * M + r], vec) * (scale * ld(o.x_scales + (r * m.K + k) / chunk * VL));
    }
  }
  UNROLL for (idx c = 0; c < C; c++) UNROLL for (idx r = 0; r < M; r++) o.y[r * m.N + n + c] = lane_sum(sum[c * M + r]);
}

/// A panel of columns as the tiles read it: of each group of four codes a vector per vector of columns; of each block scales, and zero points times scales.
struct Panel {
  char* codes;              ///< [K / 4][kBytePanel][VL][4]
  float *scales, *taken;    ///< [blocks][kBytePanel][VL]
};
INL void fill_panel(const BlockMatrix& m, const Operands& o, idx n0, const Panel& to) {
  const idx chunk = byte_chunk(m, VL), parts = chunk / (4 * VL), steps = steps_along(m);
  ROLL for (idx j = 0; j < kBytePanel; j++) {
    ROLL for (idx k = 0; k < m.K; k += chunk) {
      vec r[VL];
      UNROLL for (idx l = 0; l < VL; l++) __builtin_memcpy(&r[l], o.codes + (imin(n0 + j * VL + l, m.N - 1) * m.K + k) * m.bits / 8, sizeof r[l]);
      transpose(r);
      UNROLL for (idx q = 0; q < VL; q++) {
        ivec word;
        __builtin_memcpy(&word, &r[q], sizeof word);
        UNROLL for (idx i = 0; i < parts; i++) {
          const ivec lanes = lane_codes(m, word, i);
          __builtin_memcpy(to.codes + ((k / 4 + q * parts + i) * kBytePanel + j) * VL * 4, &lanes, sizeof lanes);
        }
      }
    }
    ROLL for (idx s = 0; s < steps; s++) UNROLL for (idx l = 0; l < VL; l++) {
      const idx at = imin(n0 + j * VL + l, m.N - 1) * steps + s, place = (s * kBytePanel + j) * VL + l;
      to.scales[place] = o.scales[at];
      to.taken[place] = o.scales[at] * (float)blocks::zero_of(m, o.zeros, at);
    }
  }
}

/// Rows [r0, r0 + R) of the panel's columns from n0 on.
INL void tile(Dot dot, const BlockMatrix& m, idx R, const Operands& o, const Panel& w, idx r0, idx n0) {
  constexpr idx J = kBytePanel;
  const idx steps = steps_along(m), quads = m.block / 4;
  vec sum[8];
  UNROLL for (idx i = 0; i < R * J; i++) sum[i] = vec{};
  ROLL for (idx s = 0; s < steps; s++) {
    ivec part[8];
    UNROLL for (idx i = 0; i < R * J; i++) part[i] = ivec{};
    ROLL for (idx q = s * quads; q < (s + 1) * quads; q++) {
      ivec wv[J];
      UNROLL for (idx j = 0; j < J; j++) wv[j] = ld_weights(w.codes + (q * J + j) * VL * 4);
      UNROLL for (idx r = 0; r < R; r++) {
        const ivec x = ld_quad(o.x + (r0 + r) * m.K + q * 4);
        UNROLL for (idx j = 0; j < J; j++) part[r * J + j] = dot_bytes(dot, part[r * J + j], wv[j], x);
      }
    }
    UNROLL for (idx j = 0; j < J; j++) {
      const vec scale = ld(w.scales + (s * J + j) * VL), zero = ld(w.taken + (s * J + j) * VL);
      UNROLL for (idx r = 0; r < R; r++) {
        const idx own = (r0 + r) * steps + s;
        sum[r * J + j] += __builtin_convertvector(part[r * J + j], vec) * (scale * o.x_scales[own]) - zero * o.x_sums[own];
      }
    }
  }
  UNROLL for (idx r = 0; r < R; r++) UNROLL for (idx j = 0; j < J; j++) {
    const idx n = n0 + j * VL;
    if (n < m.N) st_part(o.y + (r0 + r) * m.N + n, sum[r * J + j], imin(VL, m.N - n));
  }
}

INL Operands operands_of(void* const* args) {
  return {(const char*)args[0], (const char*)args[3], (const float*)args[1], (const float*)args[2], (const float*)args[4], args[5], (float*)args[6]};
}

}  // namespace k::block_bytes

/// args: x [rows][K], bytes [rows][K], scales [rows][K / block], or along: one for each lane; sums of a block's bytes times its scale [rows][K / block]. units = rows.
TEMPLATE(k_round_rows, RoundRows, l) {
  using namespace k;
  using namespace k::block_bytes;
  const idx steps = l.K / l.block;
  ROLL for (idx u = u0; u < u1; u++) {
    const float* x = (const float*)args[0] + u * l.K;
    char* out = (char*)args[1] + u * l.K;
    ROLL for (idx s = 0; s < steps; s++) {
      vec most{};
      ROLL for (idx k = s * l.block; k < (s + 1) * l.block; k += VL) most = nan_max(most, vabs(ld(x + k)));
      const float largest = lane_max(most), scale = largest / 127;
      ivec total{};
      ROLL for (idx k = s * l.block; k < (s + 1) * l.block; k += 16) {
        const sixteen codes = rounded(x + k, largest > 0 ? 127 / largest : 0, total);
        if (l.bits == 8) {
          __builtin_memcpy(out + k, &codes, 16);
        } else if (l.along) {
          const sixteen parted = __builtin_shufflevector(codes, codes, 0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15);
          char* to = out + k / (8 * VL) * 8 * VL + k % (8 * VL) / 2;
          __builtin_memcpy(to, &parted, 8), __builtin_memcpy(to + 4 * VL, (const char*)&parted + 8, 8);
        } else {
          const sixteen parted = __builtin_shufflevector(codes, codes, 0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15);
          __builtin_memcpy(out + k, &parted, 16);
        }
      }
      int32_t sum = 0;
      UNROLL for (idx i = 0; i < VL; i++) sum += total[i];
      const idx lanes = l.along ? l.block / (l.bits == 4 ? 8 : 4) : 1;
      ROLL for (idx i = 0; i < lanes; i++) ((float*)args[2])[(u * steps + s) * lanes + i] = scale;
      ((float*)args[3])[u * steps + s] = scale * (float)sum;
    }
  }
}

/// args: bytes, scales and sums of k_round_rows, codes, scales, zero points or null, y [M][N]. units = groups of `columns`.
TEMPLATE(k_byte_rows, ByteRows, l) {
  using namespace k;
  using namespace k::block_bytes;
  const Operands o = operands_of(args);
  blocks::with_few_rows(l.M, [&](idx M) __attribute__((always_inline)) {
    const idx end = imin(l.of.N, u1 * l.columns), C = M <= 2 ? 4 : M <= 4 ? 2 : 1, ahead = imax(C * l.of.K * l.of.bits / 8, 4096);
    blocks::columns_by(C, u0 * l.columns, end, [&](idx count, idx n) __attribute__((always_inline)) { few_rows(l.dot, l.of, M, count, o, n, ahead); });
  });
}

/// args: those of k_byte_rows. units = panels of kBytePanel vectors of columns. scratch: K * kBytePanel * VL bytes, then twice K / block * kBytePanel * VL floats.
TEMPLATE(k_byte_panels, BytePanels, l) {
  using namespace k;
  using namespace k::block_bytes;
  constexpr idx kRows = VW == 8 ? 3 : 4, width = kBytePanel * VL;
  const Operands o = operands_of(args);
  char* codes = (char*)scratch;
  float* scales = (float*)(codes + l.of.K * width);
  const Panel panel{codes, scales, scales + steps_along(l.of) * width};
  ROLL for (idx u = u0; u < u1; u++) {
    fill_panel(l.of, o, u * width, panel);
    idx r = 0;
    ROLL for (; r + kRows <= l.M; r += kRows) tile(l.dot, l.of, kRows, o, panel, r, u * width);
    exactly(kRows, l.M - r, [&](idx some) __attribute__((always_inline)) { tile(l.dot, l.of, some, o, panel, r, u * width); });
  }
}
#endif
