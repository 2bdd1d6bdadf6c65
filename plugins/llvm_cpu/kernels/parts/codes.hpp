// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: dot products of groups of four bytes: activations (unsigned on x86-64, signed on AArch64) times signed weights, into int32.
//
// ORDER. Broadcasts, loads of weights and products are volatile assembly, which LLVM leaves in the order written. Else it fetches all of a
//   tile's broadcasts first and spills accumulators.
// EXACT. No step saturates: vpmaddubsw, which does, is not used.
#pragma once
#include "plugins/llvm_cpu/kernels/parts/literals.hpp"

namespace k {

/// How a target multiplies bytes.
enum class Dot : int64_t {
  Pairs,    ///< vpmaddwd on pairs of 16 bits: x86-64 without VNNI. Weights: Pack::CodePairs; else Pack::Codes
  Vnni,     ///< vpdpbusd, EVEX
  AvxVnni,  ///< vpdpbusd, VEX
  Signed,   ///< sdot
  Widened,  ///< smull, saddlp: AArch64 without dotprod
};

}  // namespace k

#ifdef VW
#include "plugins/llvm_cpu/kernels/parts/vec.hpp"

namespace k {

typedef uint8_t bvec __attribute__((vector_size(VW * 4)));    // four bytes a lane
typedef int16_t svec __attribute__((vector_size(VW * 4)));    // two numbers a lane

INL ivec ld_weights(const void* p) {
  ivec w;
#ifdef __aarch64__
  asm volatile("ldr %q0, %1" : "=w"(w) : "Q"(*(const char(*)[16])p));
#elif VW == 16
  asm volatile("vmovdqu64 %1, %0" : "=v"(w) : "m"(*(const char(*)[64])p));
#else
  asm volatile("vmovdqu %1, %0" : "=x"(w) : "m"(*(const char(*)[32])p));
#endif
  return w;
}
/// Four bytes in every lane.
INL ivec ld_quad(const void* p) {
  ivec x;
#ifdef __aarch64__
  asm volatile("ld1r {%0.4s}, %1" : "=w"(x) : "Q"(*(const char(*)[4])p));
#else
  asm volatile("vpbroadcastd %1, %0" : "=" VREG(x) : "m"(*(const char(*)[4])p));
#endif
  return x;
}

/// acc + the products of four bytes a lane.
INL ivec dot_bytes([[maybe_unused]] Dot dot, ivec acc, ivec x, ivec w) {
#ifdef __aarch64__
  if (dot == Dot::Signed) {
    asm volatile(".arch_extension dotprod\n\tsdot %0.4s, %1.16b, %2.16b" : "+w"(acc) : "w"(x), "w"(w));
  } else {
    ivec low, high;
    asm volatile("smull %0.8h, %2.8b, %3.8b\n\tsmull2 %1.8h, %2.16b, %3.16b\n\tsaddlp %0.4s, %0.8h\n\tsaddlp %1.4s, %1.8h\n\taddp %0.4s, %0.4s, %1.4s"
                 : "=&w"(low), "=&w"(high) : "w"(x), "w"(w));
    acc += low;
  }
#else
#if VW == 8
  if (dot == Dot::AvxVnni) {
    asm volatile("%{vex%} vpdpbusd %2, %1, %0" : "+" VREG(acc) : VREG(x), VREG(w));
    return acc;
  }
#endif
  asm volatile("vpdpbusd %2, %1, %0" : "+" VREG(acc) : VREG(x), VREG(w));
#endif
  return acc;
}
#ifndef __aarch64__
/// Bytes 0 and 2 of each lane, or 1 and 3, as pairs.
INL ivec pair_of(ivec x, idx odd) {
  typedef uint16_t halves __attribute__((vector_size(VW * 4)));
  return odd ? (ivec)((halves)x >> 8) : x & 0x00FF00FF;
}
INL ivec dot_pairs(ivec acc, ivec x, ivec w) {
  ivec product;
  asm volatile("vpmaddwd %3, %2, %1\n\tvpaddd %1, %0, %0" : "+" VREG(acc), "=&" VREG(product) : VREG(x), VREG(w));
  return acc;
}
#endif

/// acc[o * WT + p] += sum over `quads` groups of four bytes of pixel p (step bytes after p - 1) times the weights of block o, which lie
/// [quads][OCB][VL][4] (Pairs: [quads][2][OCB][VL][2] of 16 bits). With `fetch` a line at `ahead` is fetched into the second
/// cache each group of four, `line` bytes further every time. With `ones`, bytes that are 1 where the pixel has a code and 0 where it is filled up,
/// sums[p] gets those of the codes in every lane (not of Pairs).
INL void codes_run(Dot dot, idx OCB, idx WT, idx step, const uint8_t* x, const char* w, idx quads, ivec* acc, bool fetch, const char*& ahead, idx line,
                   const char* ones = nullptr, ivec* sums = nullptr) {
  ROLL for (idx i = 0; i < quads; i++) {
    ivec wv[16];
    if (fetch) __builtin_prefetch(ahead, 0, 2), ahead += line;
#ifndef __aarch64__
    if (dot == Dot::Pairs) {
      UNROLL for (idx odd = 0; odd < 2; odd++) {
        UNROLL for (idx o = 0; o < OCB; o++) wv[o] = ld_weights(w + (odd * OCB + o) * VL * 4);
        UNROLL for (idx p = 0; p < WT; p++) {
          const ivec xv = pair_of(ld_quad(x + p * step), odd);
          UNROLL for (idx o = 0; o < OCB; o++) acc[o * WT + p] = dot_pairs(acc[o * WT + p], xv, wv[o]);
        }
      }
      x += 4, w += OCB * VL * 8;
      continue;
    }
#endif
    UNROLL for (idx o = 0; o < OCB; o++) wv[o] = ld_weights(w + o * VL * 4);
    const ivec one = ones ? ld_quad(ones + i * 4) : ivec{};
    UNROLL for (idx p = 0; p < WT; p++) {
      const ivec xv = ld_quad(x + p * step);
      UNROLL for (idx o = 0; o < OCB; o++) acc[o * WT + p] = dot_bytes(dot, acc[o * WT + p], xv, wv[o]);
      if (ones) sums[p] = dot_bytes(dot, sums[p], xv, one);
    }
    x += 4, w += OCB * VL * 4;
  }
}

}  // namespace k
#endif
