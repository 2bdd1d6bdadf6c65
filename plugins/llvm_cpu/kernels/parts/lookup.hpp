// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: a vector of bytes at a time through a table of 256.
#pragma once
#include "plugins/llvm_cpu/kernels/parts/literals.hpp"

namespace k {

enum class Lookup : int64_t {
  Permute,  ///< two tables of 128 at once: AVX-512 VBMI
  Shuffle,  ///< sixteen tables of 16; on AArch64 four of 64
};

}  // namespace k

#ifdef VW  // vectors, which only clang compiles
#include "plugins/llvm_cpu/kernels/parts/vec.hpp"
#ifdef __aarch64__
#include <arm_neon.h>
#endif

namespace k::lookup {

constexpr idx kBytes = VW * 4;
typedef uint8_t bytes __attribute__((vector_size(VW * 4)));
typedef int8_t chars __attribute__((vector_size(VW * 4)));
typedef uint8_t bytesu __attribute__((vector_size(VW * 4), aligned(1), may_alias));
typedef uint8_t quarter __attribute__((vector_size(16), aligned(1), may_alias));

INL bytes load(const uint8_t* p) { return *(const bytesu*)p; }
INL void store(uint8_t* p, bytes v) { *(bytesu*)p = v; }

#ifdef __aarch64__
// Indices past a table of 64 give 0, so four answers join.
INL void one(Lookup, const uint8_t* table, const uint8_t* in, uint8_t* out) {
  const uint8x16_t i = vld1q_u8(in);
  uint8x16_t v = vdupq_n_u8(0);
  UNROLL for (int t = 0; t < 4; t++) v = vorrq_u8(v, vqtbl4q_u8(vld1q_u8_x4(table + 64 * t), vsubq_u8(i, vdupq_n_u8((uint8_t)(64 * t)))));
  vst1q_u8(out, v);
}
#else
INL bytes repeat(const uint8_t* p) {
  const quarter q = *(const quarter*)p;
  bytes v;
  UNROLL for (idx i = 0; i < kBytes; i += 16) __builtin_memcpy((char*)&v + i, &q, 16);
  return v;
}
// Sixteen tables of 16: those that an index does not name get one with its top bit set, which gives 0.
INL bytes shuffled(const uint8_t* table, bytes i) {
  bytes v = {};
  UNROLL for (int t = 0; t < 16; t++) {
    const bytes own = __builtin_elementwise_add_sat(i - (uint8_t)(16 * t), bytes{} + (uint8_t)0x70);
    bytes part;
    asm("vpshufb %2, %1, %0" : "=v"(part) : "v"(repeat(table + 16 * t)), "v"(own));
    v |= part;
  }
  return v;
}
// The instruction looks at seven bits; the eighth chooses between its two answers.
INL bytes permuted(const uint8_t* table, bytes i) {
  bytes low = i, high = i;
  asm("vpermi2b %2, %1, %0" : "+v"(low) : "v"(load(table)), "v"(load(table + kBytes)));
  asm("vpermi2b %2, %1, %0" : "+v"(high) : "v"(load(table + 2 * kBytes)), "v"(load(table + 3 * kBytes)));
  return (bytes)((chars)i < 0 ? (chars)high : (chars)low);
}
INL void one(Lookup kind, const uint8_t* table, const uint8_t* in, uint8_t* out) {
  store(out, kind == Lookup::Permute && VW == 16 ? permuted(table, load(in)) : shuffled(table, load(in)));
}
#endif

// n bytes; reads and writes nothing else. The last vector goes over what the one before it did.
INL void run(Lookup kind, const uint8_t* table, const uint8_t* in, uint8_t* out, idx n) {
  if (n < kBytes) {
    ROLL for (idx i = 0; i < n; i++) out[i] = table[in[i]];
    return;
  }
  ROLL for (idx i = 0; i < n; i += kBytes) {
    const idx at = imin(i, n - kBytes);
    one(kind, table, in + at, out + at);
  }
}

}  // namespace k::lookup
#endif
