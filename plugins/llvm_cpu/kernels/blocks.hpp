// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: codes with a scale per block, of 4, 8 or 16 bits: quantized and dequantized one by one, and products whose constant matrix
// is such codes while the other operand is floats. A few rows read the matrix once, at the speed of memory; many rows unpack a panel of it
// at a time and go on as the product of floats (matmul.hpp).
#pragma once
#include "plugins/llvm_cpu/kernels/parts/literals.hpp"

namespace k {

/// Elements of [outer][length][inner] and their steps: one for all; one per index of `length` (block 0); or one per block of it, as
/// [outer][ceil(length / block)][inner].
struct Blocks {
  int64_t dtype;   ///< of the codes: U4, I4, U8, I8, U16, I16
  int64_t single;  ///< one for all
  int64_t count, length, inner, block;
};
struct DequantizeBlocks {
  static constexpr char entry[] = "k_dequantize_blocks";
  static constexpr void sizes(auto& l, auto mark) { mark(l.of.count, l.of.length, l.of.inner); }
  Blocks of;
};
struct QuantizeBlocks {
  static constexpr char entry[] = "k_quantize_blocks";
  static constexpr void sizes(auto& l, auto mark) { mark(l.of.count, l.of.length, l.of.inner); }
  Blocks of;
};
constexpr int64_t kBlocksPiece = 4096;  ///< elements of a unit; even

/// How the codes of a matrix [K][N] lie.
struct BlockMatrix {
  int64_t bits, is_signed;  ///< 4 or 8
  int64_t by_columns;       ///< 1: [N][K], a column after the other, else [K][N]; scales and zero points likewise, K divided by block
  int64_t block, K, N;      ///< block: along K, all of K at most
  int64_t has_zeros, zero;  ///< a byte per scale, or this one for all
};
/// Columns are whole words of codes of 4 bits, eight in each, and vectors of `vl` words whole blocks, or parts of one.
constexpr bool is_of_words(const BlockMatrix& m, int64_t vl) {
  const int64_t chunk = 8 * vl;
  return m.bits == 4 && m.by_columns && m.K % chunk == 0 && m.block % 16 == 0 && (chunk % m.block == 0 || m.block % chunk == 0);
}
constexpr int64_t kMostBlockRows = 8;
/// Few rows; by_columns, K a multiple of block. `ways` codes lie in a lane of what is loaded: 1 where they are bytes, 2 where they are halves of bytes; the block is a multiple of
/// VL * ways. Or 8, those of a word (is_of_words). Rows of x are split as many ways.
/// Not by_columns: 8 ways, N a multiple of VL * 8; x lies as it is, and of each VL * 8 scales and zero points every eighth come first, then those behind them, ...
struct BlockRows {
  static constexpr char entry[] = "k_block_rows";
  static constexpr void sizes(auto& l, auto mark) { mark(l.M); }
  BlockMatrix of;
  int64_t M, columns, ways;  ///< rows, kMostBlockRows at most; columns of a unit
};
struct BlockPanels {
  static constexpr char entry[] = "k_block_panels";
  static constexpr void sizes(auto& l, auto mark) { mark(l.M); }
  static constexpr void hints(auto& l, auto mark) { mark(l.mr); }
  static constexpr bool has_tile = true, rests_in_one = true;
  BlockMatrix of;
  int64_t M, mr, nb;
};
/// Rows of K floats: of each VL * ways of them every way-th, from the first, then from the second, ...
struct SplitRows {
  static constexpr char entry[] = "k_split_rows";
  int64_t K, ways;
};

}  // namespace k

#ifdef VW  // the template, which only clang compiles
#include "plugins/llvm_cpu/kernels/matmul.hpp"
#include "plugins/llvm_cpu/kernels/parts/lanes.hpp"
#include "plugins/llvm_cpu/kernels/parts/powers.hpp"

namespace k::blocks {

INL int32_t nibble(const void* p, idx i, bool is_signed) {
  const int32_t v = ((const uint8_t*)p)[i / 2] >> (i % 2 * 4) & 15;
  return is_signed ? (v ^ 8) - 8 : v;
}
INL int32_t code_at(const void* p, idx i, int64_t dtype) {
  if (dtype == OPTIMA_U4 || dtype == OPTIMA_I4) return nibble(p, i, dtype == OPTIMA_I4);
  if (dtype == OPTIMA_U8) return ((const uint8_t*)p)[i];
  if (dtype == OPTIMA_I8) return ((const int8_t*)p)[i];
  if (dtype == OPTIMA_U16) return ((const uint16_t*)p)[i];
  return ((const int16_t*)p)[i];
}
/// Which step an element has.
INL idx step_of(const Blocks& b, idx i) {
  if (b.single) return 0;
  const idx along = i / b.inner % b.length;
  return b.block == 0 ? along : (i / b.inner / b.length * cdiv(b.length, b.block) + along / b.block) * b.inner + i % b.inner;
}
constexpr INL float lowest(int64_t t) { return t == OPTIMA_I4 ? -8.f : t == OPTIMA_I8 ? -128.f : t == OPTIMA_I16 ? -32768.f : 0.f; }
constexpr INL float highest(int64_t t) {
  return t == OPTIMA_U4 ? 15.f : t == OPTIMA_I4 ? 7.f : t == OPTIMA_U8 ? 255.f : t == OPTIMA_I8 ? 127.f : t == OPTIMA_U16 ? 65535.f : 32767.f;
}
INL int32_t quantize_one(const Blocks& b, const float* x, const float* scale, const void* zero, idx i) {
  const idx s = step_of(b, i);
  float v = __builtin_rintf(x[i] / scale[s]) + (zero ? (float)code_at(zero, s, b.dtype) : 0.f);
  v = v > lowest(b.dtype) ? v : lowest(b.dtype);  // NaN too
  return (int32_t)(v < highest(b.dtype) ? v : highest(b.dtype));
}

/// some(how many, first) for columns [n, end), C at a time, then one by one.
template <class F>
INL void columns_by(idx C, idx n, idx end, F some) {
  ROLL for (; n + C <= end; n += C) some(C, n);
  ROLL for (; n < end; n++) some(1, n);
}
/// body(M) for the few rows that there are, as a constant.
template <class F>
INL void with_few_rows(idx M, F body) {
#if GENERAL
  exactly(kMostBlockRows + 1, M, body);
#else
  body(M);
#endif
}
INL idx steps_along(const BlockMatrix& m) { return cdiv(m.K, m.block); }
INL int32_t matrix_code(const BlockMatrix& m, const void* p, idx i) {
  return m.bits == 4 ? nibble(p, i, m.is_signed) : m.is_signed ? ((const int8_t*)p)[i] : ((const uint8_t*)p)[i];
}
INL int32_t zero_of(const BlockMatrix& m, const void* zeros, idx s) {
  return !m.has_zeros ? (int32_t)m.zero : m.is_signed ? ((const int8_t*)zeros)[s] : ((const uint8_t*)zeros)[s];
}

typedef uint8_t bytes __attribute__((vector_size(VW)));
typedef int8_t signed_bytes __attribute__((vector_size(VW)));
INL ivec wide(const void* p, bool is_signed) {
  if (is_signed) {
    signed_bytes b;
    __builtin_memcpy(&b, p, sizeof b);
    return __builtin_convertvector(b, ivec);
  }
  bytes b;
  __builtin_memcpy(&b, p, sizeof b);
  return __builtin_convertvector(b, ivec);
}

/// Columns [n, n + C) of the result, M rows. `ahead`: what is read next lies so many bytes behind each column.
INL void few_rows(const BlockMatrix& m, idx M, idx C, const float* x, const char* codes, const float* scales, const void* zeros, float* y, idx n, idx ahead) {
  const idx steps = steps_along(m), column = m.K * m.bits / 8;
  const char* at = codes + n * column;
  vec sum[8];
  UNROLL for (idx i = 0; i < C * M; i++) sum[i] = vec{};
  ROLL for (idx s = 0; s < steps; s++) {
    vec part[8];
    UNROLL for (idx i = 0; i < C * M; i++) part[i] = vec{};
    ROLL for (idx k = s * m.block * m.bits / 8; k < (s + 1) * m.block * m.bits / 8; k += VL) UNROLL for (idx c = 0; c < C; c++) {
      const char* p = at + c * column + k;
      const int32_t zero = zero_of(m, zeros, (n + c) * steps + s);
      __builtin_prefetch(p + ahead, 0, 2);
      if (m.bits == 8) {
        const vec w = __builtin_convertvector(wide(p, m.is_signed) - zero, vec);
        UNROLL for (idx r = 0; r < M; r++) part[c * M + r] += w * ld(x + r * m.K + k);
      } else {
        const ivec both = wide(p, false);
        ivec low = both & 15, high = both >> 4;
        if (m.is_signed) low = (low ^ 8) - 8, high = (high ^ 8) - 8;
        const vec even = __builtin_convertvector(low - zero, vec), odd = __builtin_convertvector(high - zero, vec);
        UNROLL for (idx r = 0; r < M; r++) part[c * M + r] += even * ld(x + r * m.K + 2 * k), part[c * M + r] += odd * ld(x + r * m.K + 2 * k + VL);
      }
    }
    UNROLL for (idx c = 0; c < C; c++) {
      const float scale = scales[(n + c) * steps + s];
      UNROLL for (idx r = 0; r < M; r++) sum[c * M + r] += part[c * M + r] * scale;
    }
  }
  UNROLL for (idx c = 0; c < C; c++) UNROLL for (idx r = 0; r < M; r++) y[r * m.N + n + c] = lane_sum(sum[c * M + r]);
}

template <class T, idx B, idx... I>
INL vec spread(const T* p, square::List<idx, I...>) {
  typedef T few __attribute__((vector_size(B * sizeof(T))));
  typedef float reals __attribute__((vector_size(B * sizeof(float))));
  few f;
  __builtin_memcpy(&f, p, sizeof f);
  const reals r = __builtin_convertvector(f, reals);
  return __builtin_shufflevector(r, r, I * B / VL...);
}
/// Each of B numbers in as many neighbouring lanes.
template <class T>
INL vec spread(const T* p, idx B) {
  constexpr auto lanes = __make_integer_seq<square::List, idx, VL>();
  if (B == 2) return spread<T, 2>(p, lanes);
#if VW >= 8
  if (B == 4) return spread<T, 4>(p, lanes);
#endif
#if VW >= 16
  if (B == 8) return spread<T, 8>(p, lanes);
#endif
  return splat((float)p[0]);
}
INL vec zeros_of(const BlockMatrix& m, const void* zeros, idx s, idx B) { return m.is_signed ? spread((const int8_t*)zeros + s, B) : spread((const uint8_t*)zeros + s, B); }

/// The codes of a word, one in each lane, as floats: where a vector holds all sixteen that there are, they are looked up, less the zero point of all.
struct Words {
  const BlockMatrix& m;
  /// Whether a zero point is still to be taken off.
  METHOD bool less() const { return m.has_zeros || (!kLess && m.zero); }
#if VW == 16
  static constexpr bool kLess = true;
  METHOD vec table() const {
    vec t;
    UNROLL for (int32_t l = 0; l < VL; l++) t[l] = (float)((m.is_signed ? (l ^ 8) - 8 : l) - (m.has_zeros ? 0 : (int32_t)m.zero));
    return t;
  }
  METHOD vec at(vec table, ivec word, idx k) const { return picked(table, word >> (int32_t)(4 * k)); }
#else
  static constexpr bool kLess = false;
  METHOD vec table() const { return vec{}; }
  METHOD vec at(vec, ivec word, idx k) const {
    const ivec code = word >> (int32_t)(4 * k) & 15;
    return __builtin_convertvector(m.is_signed ? (code ^ 8) - 8 : code, vec);
  }
#endif
};

/// As few_rows, of 8 codes in a lane: a scale in as many lanes as it has eighths.
INL void few_rows_of_words(const BlockMatrix& m, idx M, idx C, const float* x, const char* codes, const float* scales, const void* zeros, float* y, idx n, idx ahead) {
  const idx chunk = 8 * VL, steps = steps_along(m), column = m.K / 2, B = chunk > m.block ? chunk / m.block : 1;
  const Words words{m};
  const vec table = words.table();
  const bool less = words.less();
  vec sum[8];
  UNROLL for (idx i = 0; i < C * M; i++) sum[i] = vec{};
  ROLL for (idx k = 0; k < m.K; k += chunk) {
    vec part[8], all[8];
    ivec word[8];
    UNROLL for (idx i = 0; i < C * M; i++) part[i] = vec{};
    UNROLL for (idx r = 0; r < M; r++) all[r] = vec{};
    UNROLL for (idx c = 0; c < C; c++) {
      const char* p = codes + (n + c) * column + k / 2;
      __builtin_prefetch(p + ahead, 0, 2);
      __builtin_memcpy(&word[c], p, sizeof word[c]);
    }
    UNROLL for (idx i = 0; i < 8; i++) {
      vec w[8];
      UNROLL for (idx c = 0; c < C; c++) w[c] = words.at(table, word[c], i);
      UNROLL for (idx r = 0; r < M; r++) {
        const vec v = ld(x + r * m.K + k + i * VL);
        if (less) all[r] += v;
        UNROLL for (idx c = 0; c < C; c++) part[c * M + r] += w[c] * v;
      }
    }
    UNROLL for (idx c = 0; c < C; c++) {
      const idx s = (n + c) * steps + k / m.block;
      const vec scale = spread(scales + s, B), zero = m.has_zeros ? zeros_of(m, zeros, s, B) : splat((float)m.zero);
      UNROLL for (idx r = 0; r < M; r++) sum[c * M + r] += (less ? part[c * M + r] - zero * all[r] : part[c * M + r]) * scale;
    }
  }
  UNROLL for (idx c = 0; c < C; c++) UNROLL for (idx r = 0; r < M; r++) y[r * m.N + n + c] = lane_sum(sum[c * M + r]);
}

/// Columns [n0, n1) of the result, M rows, of a matrix that does not lie by columns: G of the eight codes of a word at a time. A block of rows of the matrix goes into all columns
/// before the next, so that what is read lies together. scratch: M * (n1 - n0) floats.
INL void few_rows_across(const BlockMatrix& m, idx M, idx G, const float* x, const char* codes, const float* scales, const void* zeros, float* y, idx n0, idx n1, float* scratch) {
  constexpr idx chunk = 8 * VL, kAhead = 128;
  const Words words{m};
  const vec table = words.table();
  const bool less = words.less();
  ROLL for (idx i = 0; i < M * (n1 - n0); i += VL) st(scratch + i, vec{});
  ROLL for (idx s = 0; s < steps_along(m); s++) {
    const idx k0 = s * m.block, k1 = imin(m.K, k0 + m.block);
    float all[8];
    UNROLL for (idx r = 0; r < M; r++) all[r] = 0;
    if (less) ROLL for (idx k = k0; k < k1; k++) UNROLL for (idx r = 0; r < M; r++) all[r] += x[r * m.K + k];
    ROLL for (idx n = n0; n < n1; n += chunk) UNROLL for (idx g = 0; g < 8; g += G) {
      vec part[8];
      UNROLL for (idx i = 0; i < G * M; i++) part[i] = vec{};
      ROLL for (idx k = k0; k < k1; k++) {
        const char* p = codes + (k * m.N + n) / 2;
        if (g == 0) __builtin_prefetch(p + kAhead, 0, 2);
        ivec word;
        __builtin_memcpy(&word, p, sizeof word);
        UNROLL for (idx i = 0; i < G; i++) {
          const vec w = words.at(table, word, g + i);
          UNROLL for (idx r = 0; r < M; r++) part[i * M + r] += w * x[r * m.K + k];
        }
      }
      UNROLL for (idx i = 0; i < G; i++) {
        const idx at = s * m.N + n + (g + i) * VL;
        const vec scale = ld(scales + at), zero = m.has_zeros ? __builtin_convertvector(wide((const char*)zeros + at, m.is_signed), vec) : splat((float)m.zero);
        UNROLL for (idx r = 0; r < M; r++) {
          float* to = scratch + (n - n0) * M + (r * 8 + g + i) * VL;
          st(to, ld(to) + (less ? part[i * M + r] - zero * all[r] : part[i * M + r]) * scale);
        }
      }
    }
  }
  ROLL for (idx n = n0; n < n1; n += chunk) ROLL for (idx r = 0; r < M; r++) ROLL for (idx i = 0; i < 8; i++) ROLL for (idx j = 0; j < VL; j++)
    y[r * m.N + n + 8 * j + i] = scratch[(n - n0) * M + (r * 8 + i) * VL + j];
}

typedef uint8_t half_bytes __attribute__((vector_size(VW / 2)));
typedef int32_t half_ivec __attribute__((vector_size(VW * 2)));
template <idx... I>
INL ivec zipped(half_ivec a, half_ivec b, square::List<idx, I...>) { return __builtin_shufflevector(a, b, I / 2 + I % 2 * (VL / 2)...); }
/// VL codes that follow one another; of 4 bits from a whole byte on.
INL ivec codes_at(const BlockMatrix& m, const void* codes, idx i) {
  if (m.bits == 8) return wide((const char*)codes + i, m.is_signed);
  half_bytes b;
  __builtin_memcpy(&b, (const char*)codes + i / 2, sizeof b);
  const half_ivec both = __builtin_convertvector(b, half_ivec);
  const ivec code = zipped(both & 15, both >> 4, __make_integer_seq<square::List, idx, VL>());
  return m.is_signed ? (code ^ 8) - 8 : code;
}

/// Columns [n0, n0 + cols), each of which lies by itself, as floats: [K][width], a vector of columns at a time; behind them copies of the last one.
INL void unpack_columns(const BlockMatrix& m, const void* codes, const float* scales, const void* zeros, idx n0, idx cols, idx width, float* to) {
  const idx steps = steps_along(m);
  ROLL for (idx j = 0; j < cols; j += VL) ROLL for (idx k = 0; k < m.K; k += VL) {
    vec r[VL];
    UNROLL for (idx l = 0; l < VL; l++) {
      const idx n = imin(n0 + j + l, m.N - 1), at = n * steps + k / m.block;
      r[l] = __builtin_convertvector(codes_at(m, codes, n * m.K + k) - zero_of(m, zeros, at), vec) * scales[at];
    }
    transpose(r);
    UNROLL for (idx l = 0; l < VL; l++) st(to + (k + l) * width + j, r[l]);
  }
}

/// As unpack_columns: words of VL columns change places with one another, and their codes then lie as they are wanted.
INL void unpack_words(const BlockMatrix& m, const void* codes, const float* scales, const void* zeros, idx n0, idx cols, idx width, float* to) {
  constexpr idx chunk = 8 * VL;
  const idx steps = steps_along(m);
  const Words words{m};
  const vec table = words.table();
  const bool less = words.less();
  ROLL for (idx j = 0; j < cols; j += VL) ROLL for (idx k = 0; k < m.K; k += chunk) {
    vec r[VL], scale{}, zero{};
    UNROLL for (idx l = 0; l < VL; l++) __builtin_memcpy(&r[l], (const char*)codes + (imin(n0 + j + l, m.N - 1) * m.K + k) / 2, sizeof r[l]);
    transpose(r);
    UNROLL for (idx q = 0; q < VL; q++) {
      if (8 * q % m.block == 0) UNROLL for (idx l = 0; l < VL; l++) {
        const idx at = imin(n0 + j + l, m.N - 1) * steps + (k + 8 * q) / m.block;
        scale[l] = scales[at];
        if (less) zero[l] = (float)zero_of(m, zeros, at);
      }
      ivec word;
      __builtin_memcpy(&word, &r[q], sizeof word);
      UNROLL for (idx i = 0; i < 8; i++) {
        const vec code = words.at(table, word, i);
        st(to + (k + 8 * q + i) * width + j, (less ? code - zero : code) * scale);
      }
    }
  }
}

/// Columns [n0, n0 + cols) as floats: [K][width]; behind them 0 or copies of the last one.
INL void unpack(const BlockMatrix& m, const void* codes, const float* scales, const void* zeros, idx n0, idx cols, idx width, float* to) {
  const idx steps = steps_along(m);
  if (is_of_words(m, VL)) return unpack_words(m, codes, scales, zeros, n0, cols, width, to);
  if (m.by_columns && m.block % VL == 0 && m.K % m.block == 0) return unpack_columns(m, codes, scales, zeros, n0, cols, width, to);
  ROLL for (idx k = 0; k < m.K; k++) for (idx j = cols; j < width; j++) to[k * width + j] = 0;
  if (m.by_columns) {
    ROLL for (idx j = 0; j < cols; j++) ROLL for (idx s = 0; s < steps; s++) {
      const idx at = (n0 + j) * steps + s, end = imin(m.K, (s + 1) * m.block);
      const int32_t zero = zero_of(m, zeros, at);
      const float scale = scales[at];
      for (idx k = s * m.block; k < end; k++) to[k * width + j] = (float)(matrix_code(m, codes, (n0 + j) * m.K + k) - zero) * scale;
    }
    return;
  }
  ROLL for (idx k = 0; k < m.K; k++) {
    const idx s = k / m.block * m.N + n0;
    idx j = 0;
    ROLL for (; j + VL <= cols; j += VL) {
      const ivec zero = m.has_zeros ? wide((const char*)zeros + s + j, m.is_signed) : (int32_t)m.zero - ivec{};
      st(to + k * width + j, __builtin_convertvector(codes_at(m, codes, k * m.N + n0 + j) - zero, vec) * ld(scales + s + j));
    }
    ROLL for (; j < cols; j++) to[k * width + j] = (float)(matrix_code(m, codes, k * m.N + n0 + j) - zero_of(m, zeros, s + j)) * scales[s + j];
  }
}

}  // namespace k::blocks

/// args: codes, scales, zero points (codes of the same type) or null, out. units = pieces of kBlocksPiece.
TEMPLATE(k_dequantize_blocks, DequantizeBlocks, l) {
  using namespace k;
  using namespace k::blocks;
  ROLL for (idx u = u0; u < u1; u++) ROLL for (idx i = u * kBlocksPiece; i < imin(l.of.count, (u + 1) * kBlocksPiece); i++) {
    const idx s = step_of(l.of, i);
    const int32_t zero = args[2] ? code_at(args[2], s, l.of.dtype) : 0;
    ((float*)args[3])[i] = (float)(code_at(args[0], i, l.of.dtype) - zero) * ((const float*)args[1])[s];
  }
}

/// args: x, scales, zero points (codes of the same type) or null, codes. units = pieces of kBlocksPiece.
TEMPLATE(k_quantize_blocks, QuantizeBlocks, l) {
  using namespace k;
  using namespace k::blocks;
  const float *x = (const float*)args[0], *scales = (const float*)args[1];
  const bool packed = l.of.dtype == OPTIMA_U4 || l.of.dtype == OPTIMA_I4, halves = l.of.dtype == OPTIMA_U16 || l.of.dtype == OPTIMA_I16;
  ROLL for (idx u = u0; u < u1; u++) {
    const idx end = imin(l.of.count, (u + 1) * kBlocksPiece);
    if (packed) {
      ROLL for (idx i = u * kBlocksPiece; i < end; i += 2) {
        const int32_t low = quantize_one(l.of, x, scales, args[2], i) & 15, high = i + 1 < end ? quantize_one(l.of, x, scales, args[2], i + 1) & 15 : 0;
        ((uint8_t*)args[3])[i / 2] = (uint8_t)(low | high << 4);
      }
    } else {
      ROLL for (idx i = u * kBlocksPiece; i < end; i++) {
        const int32_t v = quantize_one(l.of, x, scales, args[2], i);
        if (halves) ((uint16_t*)args[3])[i] = (uint16_t)v;
        else ((uint8_t*)args[3])[i] = (uint8_t)v;
      }
    }
  }
}

/// args: x, out. units = rows.
TEMPLATE(k_split_rows, SplitRows, l) {
  using namespace k;
  ROLL for (int64_t u = u0; u < u1; u++) {
    const float* __restrict x = (const float*)args[0] + u * l.K;
    float* __restrict out = (float*)args[1] + u * l.K;
    for (idx i = 0; i < l.K; i += l.ways * VL)
      for (idx k = 0; k < l.ways; k++) for (idx j = 0; j < VL; j++) out[i + k * VL + j] = x[i + l.ways * j + k];
  }
}

/// args: x [M][K], codes, scales, zero points or null, y [M][N]. units = groups of `columns`. scratch, of a matrix that is not by_columns: M * N floats.
TEMPLATE(k_block_rows, BlockRows, l) {
  using namespace k;
  using namespace k::blocks;
  with_few_rows(l.M, [&](idx M) __attribute__((always_inline)) {
    if (!l.of.by_columns) {
      const idx G = M == 1 ? 8 : M == 2 ? 4 : M <= 4 ? 2 : 1;
      return few_rows_across(l.of, M, G, (const float*)args[0], (const char*)args[1], (const float*)args[2], args[3], (float*)args[4], u0 * l.columns, u1 * l.columns, (float*)scratch);
    }
    // As many columns at a time as accumulators allow: a load of x serves them all.
    const idx end = imin(l.of.N, u1 * l.columns), C = M == 1 || (l.ways == 8 && M == 2) ? 4 : M <= 4 ? 2 : 1, bytes = C * l.of.K * l.of.bits / 8, ahead = l.ways == 8 ? imax(bytes, 4096) : bytes;
    columns_by(C, u0 * l.columns, end, [&](idx count, idx n) __attribute__((always_inline)) {
      if (l.ways == 8) few_rows_of_words(l.of, M, count, (const float*)args[0], (const char*)args[1], (const float*)args[2], args[3], (float*)args[4], n, ahead);
      else few_rows(l.of, M, count, (const float*)args[0], (const char*)args[1], (const float*)args[2], args[3], (float*)args[4], n, ahead);
    });
  });
}

/// args: x [M][K], codes, scales, zero points or null, y [M][N]. units = panels of nb vectors of columns. scratch: K * nb * VL floats.
TEMPLATE(k_block_panels, BlockPanels, l) {
  using namespace k;
  using namespace k::blocks;
  const idx mr = HINT(l, mr);
  const Matmul s{.mr = l.mr, .nb = l.nb, .mb = l.mr, .packed = 1, .in_place = 0, .ahead = 0, .epilogue = 0, .act = {Act::None, 0, 0}, .alpha = 1, .M = l.M,
                 .N = l.of.N, .K = l.of.K, .sam = l.of.K, .sak = 1, .sbk = 0, .sbn = 1, .scm = l.of.N, .b1 = 1, .sa0 = 0, .sa1 = 0, .sb0 = 0, .sb1 = 0,
                 .sc0 = 0, .sc1 = 0};
  const idx width = l.nb * VL, blocks = cdiv(l.of.N, VL), panels = cdiv(blocks, l.nb), tail = l.of.N - (blocks - 1) * VL;
  ROLL for (idx u = u0; u < u1; u++) {
    const idx n0 = u * width;
    const matmul::Place at{(const float*)args[0], nullptr, nullptr, nullptr, nullptr, (float*)args[4] + n0};
    float* panel = (float*)scratch;
    const auto group = [&](idx nb, idx lanes) __attribute__((always_inline)) {
      unpack(l.of, args[1], (const float*)args[2], args[3], n0, (nb - 1) * VL + lanes, nb * VL, panel);
#if GENERAL
      idx m = 0;
      ROLL for (; m + mr <= l.M; m += mr) matmul::tile(mr, nb, lanes, s, panel, nb * VL, at, m, false);
      exactly(mr, l.M - m, [&](idx some) __attribute__((always_inline)) { matmul::tile(some, nb, lanes, s, panel, nb * VL, at, m, false); });
      return;
#endif
      const idx even = l.M / mr * mr;
      ROLL for (idx m = 0; m < even; m += mr) matmul::tile(mr, nb, lanes, s, panel, nb * VL, at, m, false);
      if (l.M % mr) matmul::tile(l.M % mr, nb, lanes, s, panel, nb * VL, at, even, false);
    };
    if (u < panels - 1) group(l.nb, VL);
    else group(blocks - (panels - 1) * l.nb, tail);
  }
}
#endif
