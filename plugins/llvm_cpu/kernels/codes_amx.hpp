// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: what k_codes_conv does, by the tile registers of AMX. x86-64 with 16 floats per vector only.
//
// A tile of activations is up to 16 pixels x 64 bytes, read where they lie; one of weights 16 groups of four bytes x 16 outputs, which is
// Pack::Codes as it is. Two by two of them make four tiles of sums, which pass through scratch to the tail. Runs are filled up to 64 bytes
// with weights of zero; what lies behind a run's end is read, and counts nothing.
#pragma once
#include "plugins/llvm_cpu/kernels/parts/codes.hpp"
#include "plugins/llvm_cpu/kernels/parts/codes_tail.hpp"

namespace k {

struct CodesAmx {
  static constexpr char entry[] = "k_codes_amx";
  static constexpr const char* matrix(const CodesAmx&) { return "amx-int8"; }
  static constexpr void sizes(auto& l, auto mark) {
    mark(l.by_tiles, l.run_step, l.N, l.out, l.rows, l.in_image, l.in_step.d, l.in_step.h, l.fetch);
    mark_tail(l.tail, mark);
  }
  CodesTail tail;
  int64_t by_tiles;
  int64_t OC, float_bias;
  int64_t quads;           ///< groups of four bytes of a run, a multiple of 16
  Three runs, run_step;    ///< how many, and bytes from one to the next
  int64_t N;
  Three out;
  int64_t rows;            ///< pixels of a tile, which cut rows of out.w; the last one of a row overlaps the one before
  int64_t in_image;
  Three in_step;           ///< input bytes from output to output
  int64_t out_pixel;
  int64_t fetch;           ///< cache lines of the next group's weights, which directly follow, to fetch for 16 groups of four bytes
};
constexpr int64_t kAmxBlocks = 2;              ///< blocks of 16 outputs of a group
constexpr int64_t kAmxScratch = 64 + 4 * 1024;  ///< bytes: the configuration, and four tiles of sums

}  // namespace k

#ifdef VW  // the template, which only clang compiles

namespace k::amx {

#if VW == 16
INL void configure(char* at, idx rows) {
  uint8_t* c = (uint8_t*)at;
  UNROLL for (idx i = 0; i < 64; i++) c[i] = 0;
  c[0] = 1;
  UNROLL for (idx t = 0; t < 8; t++) c[16 + t * 2] = 64, c[48 + t] = (uint8_t)(t < 6 ? rows : 16);
  asm volatile("ldtilecfg (%0)" : : "r"(at) : "memory");
}
INL void release() { asm volatile("tilerelease" : : : "memory"); }

/// sums (four tiles of 1 KB) = products of M tiles of pixels and B blocks of outputs.
INL void multiply(const CodesAmx& l, idx M, idx B, const uint8_t* x0, const uint8_t* x1, const char* w, char* sums, const char*& ahead) {
  asm volatile("tilezero %%tmm0\n\ttilezero %%tmm1\n\ttilezero %%tmm2\n\ttilezero %%tmm3" : : : "memory");
  const idx step = l.in_step.w, wide = B * 64;
  ROLL for (idx d = 0; d < l.runs.d; d++) ROLL for (idx h = 0; h < l.runs.h; h++) ROLL for (idx r = 0; r < l.runs.w; r++) {
    const idx at = d * l.run_step.d + h * l.run_step.h + r * l.run_step.w;
    ROLL for (idx k = 0; k < l.quads; k += 16) {
      asm volatile("tileloadd (%0,%1,1), %%tmm6" : : "r"(w), "r"(wide) : "memory");
      asm volatile("tileloadd (%0,%1,1), %%tmm4" : : "r"(x0 + at + k * 4), "r"(step) : "memory");
      asm volatile("tdpbusd %%tmm6, %%tmm4, %%tmm0" : : : "memory");
      if (B > 1) {
        asm volatile("tileloadd (%0,%1,1), %%tmm7" : : "r"(w + 64), "r"(wide) : "memory");
        asm volatile("tdpbusd %%tmm7, %%tmm4, %%tmm1" : : : "memory");
      }
      if (M > 1) {
        asm volatile("tileloadd (%0,%1,1), %%tmm5" : : "r"(x1 + at + k * 4), "r"(step) : "memory");
        asm volatile("tdpbusd %%tmm6, %%tmm5, %%tmm2" : : : "memory");
        if (B > 1) asm volatile("tdpbusd %%tmm7, %%tmm5, %%tmm3" : : : "memory");
      }
#if GENERAL
      ROLL for (idx i = 0; i < l.fetch; i++) __builtin_prefetch(ahead + i * 64, 0, 2);
#else
      UNROLL for (idx i = 0; i < l.fetch; i++) __builtin_prefetch(ahead + i * 64, 0, 2);
#endif
      w += 16 * wide, ahead += l.fetch * 64;
    }
  }
  asm volatile("tilestored %%tmm0, (%0,%1,1)" : : "r"(sums), "r"(idx(64)) : "memory");
  if (B > 1) asm volatile("tilestored %%tmm1, (%0,%1,1)" : : "r"(sums + 1024), "r"(idx(64)) : "memory");
  if (M > 1) asm volatile("tilestored %%tmm2, (%0,%1,1)" : : "r"(sums + 2048), "r"(idx(64)) : "memory");
  if (M > 1 && B > 1) asm volatile("tilestored %%tmm3, (%0,%1,1)" : : "r"(sums + 3072), "r"(idx(64)) : "memory");
}
#else
INL void configure(char*, idx) {}
INL void release() {}
INL void multiply(const CodesAmx&, idx, idx, const uint8_t*, const uint8_t*, const char*, char*, const char*&) {}
#endif

/// A tile of pixels: its first input byte and its first output pixel.
struct Place {
  const uint8_t* x;
  idx q;
};
/// Goes over tiles: of rows of T the t-th one, of the row's number, and where that lies.
struct Walk {
  idx T, t, row, y, z, n;
};
INL Walk walk_from(const CodesAmx& l, idx u) {
  const idx T = cdiv(l.out.w, l.rows), row = u / T;
  return {T, u % T, row, row % l.out.h, row / l.out.h % l.out.d, row / (l.out.d * l.out.h)};
}
INL Place next(const CodesAmx& l, const void* in, Walk& at) {
  const idx first = imin(at.t * l.rows, l.out.w - l.rows);
  const Place here = {(const uint8_t*)in + at.n * l.in_image + at.z * l.in_step.d + at.y * l.in_step.h + first * l.in_step.w, at.row * l.out.w + first};
  if (++at.t == at.T) {
    at.t = 0, ++at.row;
    if (++at.y == l.out.h) at.y = 0, ++at.z;
    if (at.z == l.out.d) at.z = 0, ++at.n;
  }
  return here;
}

/// f(first pixel, how many) for pieces of a tile of so many pixels, at least four. General: by fours, the last of which overlaps the one before.
template <class F>
INL void pieces(idx rows, F f) {
#if GENERAL
  ROLL for (idx p = 0; p < rows; p += 4) f(imin(p, rows - 4), idx(4));
  return;
#endif
  ROLL for (idx p = 0; p + 4 <= rows; p += 4) f(p, idx(4));
  if (rows % 4) f(rows / 4 * 4, rows % 4);
}

INL void finish(const CodesAmx& l, void* const* args, idx B, idx last, const char* sums, idx c0, idx q) {
  pieces(l.rows, [&](idx p0, idx count) __attribute__((always_inline)) {
    codes_finish(l.tail, (const float*)args[5], args + 7, args[6], l.out_pixel, B, count, {last, false}, c0, q + p0, [&](idx o, idx p) __attribute__((always_inline)) {
      const ivec sum = *(const ivecu*)(sums + o * 1024 + (p0 + p) * 64) + *(const ivecu*)((const int32_t*)args[3] + c0 + o * VL);
      vec v = __builtin_convertvector(sum, vec) * ld((const float*)args[2] + c0 + o * VL);
      if (l.float_bias) v += ld((const float*)args[4] + c0 + o * VL);
      return v;
    });
  });
}

/// Blocks of outputs from channel c0 on, tiles of pixels [t0, t1).
INL void group(const CodesAmx& l, idx B, idx last, void* const* args, idx c0, idx t0, idx t1, char* sums) {
  const char* w = (const char*)args[1] + c0 * l.runs.d * l.runs.h * l.runs.w * l.quads * 4;
  const char* ahead = w + B * VL * l.runs.d * l.runs.h * l.runs.w * l.quads * 4;
  Walk at = walk_from(l, t0);
  ROLL for (idx u = t0; u + 1 < t1; u += 2) {
    const Place a = next(l, args[0], at), b = next(l, args[0], at);
    multiply(l, 2, B, a.x, b.x, w, sums, ahead);
    finish(l, args, B, last, sums, c0, a.q);
    finish(l, args, B, last, sums + 2048, c0, b.q);
  }
  if ((t1 - t0) % 2) {
    const Place a = next(l, args[0], at);
    multiply(l, 1, B, a.x, a.x, w, sums, ahead);
    finish(l, args, B, last, sums, c0, a.q);
  }
}

INL void any_group(const CodesAmx& l, void* const* args, idx g, idx t0, idx t1, char* sums) {
  const idx nb = cdiv(l.OC, VL), rest = l.OC - (nb - 1) * VL, c0 = g * kAmxBlocks * VL;
  if (g * kAmxBlocks + 1 == nb) group(l, 1, rest, args, c0, t0, t1, sums);
  else if (g * kAmxBlocks + kAmxBlocks == nb) group(l, kAmxBlocks, rest, args, c0, t0, t1, sums);
  else group(l, kAmxBlocks, VL, args, c0, t0, t1, sums);
}

}  // namespace k::amx

/// args: as k_codes_conv, weights filled up to 64 bytes a run. by_tiles: units = N * OD * OH * ceil(OW / rows) tiles of pixels, else groups of
/// kAmxBlocks blocks. scratch: kAmxScratch bytes. Requires 4 <= rows <= out.w.
TEMPLATE(k_codes_amx, CodesAmx, l) {
  using namespace k;
  const idx groups = cdiv(cdiv(l.OC, VL), kAmxBlocks), tiles = l.N * l.out.d * l.out.h * cdiv(l.out.w, l.rows);
  amx::configure(scratch, l.rows);
#if GENERAL  // both ways by one body
  ROLL for (idx g = l.by_tiles ? 0 : u0; g < (l.by_tiles ? groups : u1); g++)
    amx::any_group(l, args, g, l.by_tiles ? u0 : 0, l.by_tiles ? u1 : tiles, scratch + 64);
  amx::release();
  return;
#endif
  if (l.by_tiles) ROLL for (idx g = 0; g < groups; g++) amx::any_group(l, args, g, u0, u1, scratch + 64);
  else ROLL for (idx g = u0; g < u1; g++) amx::any_group(l, args, g, 0, tiles, scratch + 64);
  amx::release();
}
#endif
