// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: products of bf16 with sums in f32: matrix products and convolutions whose input lies channels last.
//
// Rows of the input are `rows` runs of IC elements in_row apart, in `lines`, seen through KH x KW taps; a matrix is one line with one tap. Weights
// are Pack::Pairs: two inputs side by side, as the instructions want them. Two ways, both with OCB blocks of 16 columns:
// TILES. AMX-BF16: 2 x OCB tiles of 16 x 16 sums; per step 32 inputs, 2 loads of rows, OCB of weights. Sums go through scratch to their tail.
// DOTS. vdpbf16ps: up to 12 rows x OCB vectors of sums in registers; per step 2 inputs, as the f32 kernels do with one.
// The last step along a line starts earlier instead of being short, and writes the same numbers again.
#pragma once
#include "plugins/llvm_cpu/kernels/parts/tail.hpp"

namespace k {

struct Pairs {
  static constexpr char entry[] = "k_pairs";
  static constexpr const char* matrix(const Pairs& l) { return l.tiles ? "amx-bf16" : ""; }
  int64_t tiles;                                           ///< 1: TILES, 0: DOTS
  int64_t OCB, images, lines, rows;
  int64_t line_block, row_block;                           ///< per unit; the last unit of a line has what is left, too
  int64_t KH, KW, IC, N;                                   ///< IC: a multiple of 32
  int64_t lanes;                                           ///< of the last block of columns, that are stored
  int64_t in_image, in_line, in_row, in_tap_y, in_tap_x;   ///< steps in elements
  int64_t out_image, out_line, out_row, out_block;
  int64_t bias, before, after;                             ///< which operands there are
  Activation act;
};
/// Blocked f32 to bf16 channels last, with borders of zeros: [N][HP][WP][C]; C a multiple of VL. The image begins at row PT, column PL.
struct ToPairs {
  static constexpr char entry[] = "k_to_pairs";
  static constexpr void sizes(auto& l, auto mark) { mark(l.H, l.W, l.HP, l.WP); }
  int64_t C, H, W, PT, PL, HP, WP;
};
constexpr int64_t kPairsScratch = 5 * 1024;  ///< bytes: four tiles and their configuration

}  // namespace k

#ifdef VW  // the template, which only clang compiles
#include "plugins/llvm_cpu/kernels/parts/activation.hpp"
#include "plugins/llvm_cpu/kernels/parts/half.hpp"
#include "plugins/llvm_cpu/kernels/parts/lanes.hpp"

namespace k::pairs {

/// One unit's pointers, at its group of columns.
struct Place {
  const uint16_t *in, *weights;
  const float *bias, *before, *after;
  float* out;
};

INL void store(const Pairs& l, const Place& at, idx o, idx lanes, idx out, vec v) {
  const idx to = out + o * l.out_block;
  if (l.bias) v += ld_part(at.bias + o * VL, lanes, 0);
  if (l.before) v += ld_part(at.before + to, lanes, 0);
  v = activate(v, l.act);
  if (l.after) v += ld_part(at.after + to, lanes, 0);
  st_part(at.out + to, v, lanes);
}

/// f(weights of the step, element of the input's row) for all taps and steps of `step` inputs; a step has so many blocks of weights.
template <class F>
INL void each_step(const Pairs& l, idx blocks, idx step, const uint16_t* w, F f) {
  ROLL for (idx y = 0; y < l.KH; y++) ROLL for (idx x = 0; x < l.KW; x++) {
    const idx tap = y * l.in_tap_y + x * l.in_tap_x;
    ROLL for (idx c = 0; c < l.IC; c += step) {
      f(w, tap + c);
      w += step * blocks * VL;
    }
  }
}

#if defined(__x86_64__) && VW == 16
#define TILE_ZERO(t) asm volatile("tilezero %%tmm" #t ::: "memory")
#define TILE_LOAD(t, p, step) asm volatile("tileloadd (%0,%1,1), %%tmm" #t ::"r"(p), "r"(step) : "memory")
#define TILE_STORE(t, p, step) asm volatile("tilestored %%tmm" #t ", (%0,%1,1)" ::"r"(p), "r"(step) : "memory")
#define TILE_DOT(sum, rows, weights) asm volatile("tdpbf16ps %%tmm" #weights ", %%tmm" #rows ", %%tmm" #sum ::: "memory")

/// tmm0..3 sums, 4 and 5 rows, 6 and 7 weights.
INL void configure(idx rows, char* scratch) {
  ROLL for (idx i = 0; i < 64; i++) scratch[i] = 0;
  scratch[0] = 1;
  ROLL for (idx t = 0; t < 8; t++) scratch[16 + 2 * t] = 64, scratch[48 + t] = (char)(t < 6 ? rows : 16);
  asm volatile("ldtilecfg (%0)" ::"r"(scratch) : "memory");
}
INL void release() { asm volatile("tilerelease" ::: "memory"); }

/// Rows from r and from r2 on (two: else only the first), `blocks` blocks of columns.
INL void step_tiles(const Pairs& l, const Place& at, idx blocks, idx lanes, bool two, idx in, idx in2, idx out, idx out2, float* sums) {
  TILE_ZERO(0);
  TILE_ZERO(1);
  TILE_ZERO(2);
  TILE_ZERO(3);
  const idx wide = 2 * l.in_row, weights = 64 * blocks, line = 64;
  each_step(l, blocks, 32, at.weights, [&](const uint16_t* w, idx c) __attribute__((always_inline)) {
    TILE_LOAD(6, w, weights);
    TILE_LOAD(4, at.in + in + c, wide);
    TILE_DOT(0, 4, 6);
    if (two) TILE_LOAD(5, at.in + in2 + c, wide);
    if (two) TILE_DOT(2, 5, 6);
    if (blocks == 1) return;
    TILE_LOAD(7, w + 2 * VL, weights);
    TILE_DOT(1, 4, 7);
    if (two) TILE_DOT(3, 5, 7);
  });
  TILE_STORE(0, sums, line);
  TILE_STORE(1, sums + 256, line);
  TILE_STORE(2, sums + 512, line);
  TILE_STORE(3, sums + 768, line);
  ROLL for (idx r = 0; r < imin(l.rows, 16); r++) UNROLL for (idx o = 0; o < blocks; o++) {
    const idx n = o == blocks - 1 ? lanes : VL;
    store(l, at, o, n, out + r * l.out_row, ld(sums + o * 256 + r * VL));
    if (two) store(l, at, o, n, out2 + r * l.out_row, ld(sums + 512 + o * 256 + r * VL));
  }
}

INL vec dot(vec sum, vec w, ivec x) {
  asm("vdpbf16ps %2, %1, %0" : "+v"(sum) : "v"(w), "v"(x));
  return sum;
}
INL void step_dots(const Pairs& l, const Place& at, idx blocks, idx lanes, idx rows, idx in, idx out) {
  vec acc[24];
  UNROLL for (idx i = 0; i < rows * blocks; i++) acc[i] = vec{};
  each_step(l, blocks, 2, at.weights, [&](const uint16_t* w, idx c) __attribute__((always_inline)) {
    BARRIER;
    vec wv[2];
    UNROLL for (idx o = 0; o < blocks; o++) wv[o] = ld((const float*)(w + o * 2 * VL));
    UNROLL for (idx r = 0; r < rows; r++) {
      int32_t pair;
      __builtin_memcpy(&pair, at.in + in + r * l.in_row + c, sizeof pair);
      UNROLL for (idx o = 0; o < blocks; o++) acc[r * blocks + o] = dot(acc[r * blocks + o], wv[o], pair - ivec{});
    }
  });
  UNROLL for (idx r = 0; r < rows; r++) UNROLL for (idx o = 0; o < blocks; o++)
    store(l, at, o, o == blocks - 1 ? lanes : VL, out + r * l.out_row, acc[r * blocks + o]);
}

/// Rows [r0, r1) of the line that begins at `in`, `out`.
INL void line(const Pairs& l, const Place& at, idx blocks, idx lanes, idx in, idx out, idx r0, idx r1, char* scratch) {
  if (l.tiles) {
    const idx most = imin(l.rows, 16);
    const bool two = l.rows > 16;
    ROLL for (idx r = r0; r < r1; r += 32) {
      const idx a = two ? imax(r0, imin(r, r1 - 32)) : r, b = imin(a + 16, r1 - most);
      step_tiles(l, at, blocks, lanes, two, in + a * l.in_row, in + b * l.in_row, out + a * l.out_row, out + b * l.out_row, (float*)scratch);
    }
    return;
  }
  const idx most = imin(l.rows, 12);
  ROLL for (idx r = r0; r < r1; r += most) {
    const idx a = imin(r, r1 - most);
    step_dots(l, at, blocks, lanes, most, in + a * l.in_row, out + a * l.out_row);
  }
}
#else
INL void configure(idx, char*) {}
INL void release() {}
INL void line(const Pairs&, const Place&, idx, idx, idx, idx, idx, idx, char*) {}  // nothing else has bf16 products that are worth it
#endif

}  // namespace k::pairs

// args: input, weights, bias, matrix before the activation, matrix after it, out; these lie as the result does. units: groups of columns * images *
// blocks of lines * blocks of rows, these fastest: a panel of weights is used up before the next. scratch: kPairsScratch.
TEMPLATE(k_pairs, Pairs, l) {
  using namespace k;
  using namespace k::pairs;
  const idx columns = cdiv(l.N, VL), groups = cdiv(columns, l.OCB), line_blocks = cdiv(l.lines, l.line_block), row_blocks = imax(1, l.rows / l.row_block);
  if (l.tiles) configure(imin(l.rows, 16), scratch + 4096);
  ROLL for (idx u = u0; u < u1; u++) {
    const idx rb = u % row_blocks, lb = u / row_blocks % line_blocks, image = u / (row_blocks * line_blocks) % l.images, g = u / (row_blocks * line_blocks * l.images);
    const idx first = g * l.OCB, to = image * l.out_image + first * l.out_block;
    const Place at{(const uint16_t*)args[0] + image * l.in_image, (const uint16_t*)args[1] + first * VL * l.KH * l.KW * l.IC,
                   (const float*)args[2] + (l.bias ? first * VL : 0), (const float*)args[3] + (l.before ? to : 0), (const float*)args[4] + (l.after ? to : 0),
                   (float*)args[5] + to};
    const idx r0 = rb * l.row_block, r1 = rb == row_blocks - 1 ? l.rows : r0 + l.row_block;
    const auto all = [&](idx blocks, idx lanes) __attribute__((always_inline)) {
      ROLL for (idx y = lb * l.line_block; y < imin(l.lines, (lb + 1) * l.line_block); y++)
        line(l, at, blocks, lanes, y * l.in_line, y * l.out_line, r0, r1, scratch);
    };
    if (g < groups - 1) all(l.OCB, VL);
    else all(columns - (groups - 1) * l.OCB, l.lanes);
  }
  if (l.tiles) release();
}

// args: blocked, channels last. units: N * HP.
TEMPLATE(k_to_pairs, ToPairs, l) {
  using namespace k;
  const idx blocks = l.C / VL;
  ROLL for (idx u = u0; u < u1; u++) {
    const idx n = u / l.HP, y = u % l.HP - l.PT;
    uint16_t* out = (uint16_t*)args[1] + u * l.WP * l.C;
    if (y < 0 || y >= l.H) {
      __builtin_memset(out, 0, (size_t)(2 * l.WP * l.C));
      continue;
    }
    ROLL for (idx b = 0; b < blocks; b++) {
      const float* in = (const float*)args[0] + ((n * blocks + b) * l.H + y) * l.W * VL;
      ROLL for (idx x = 0; x < l.WP; x++) {
        const bool inside = x >= l.PL && x < l.PL + l.W;
        st_words(out + x * l.C + b * VL, inside ? to_bf16(ld(in + (x - l.PL) * VL)) : words{});
      }
    }
  }
}
#endif
