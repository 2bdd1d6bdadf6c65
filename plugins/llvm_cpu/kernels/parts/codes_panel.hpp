// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: a computed matrix of codes as products want their second operand (Pack::Codes, Pack::CodePairs), packed in the run.
#pragma once
#include "plugins/llvm_cpu/kernels/parts/codes.hpp"

namespace k {

/// B[K][N] by steps in bytes. `flip` is xored to each code, which makes it signed.
struct CodesPanel {
  int64_t K, sbk, sbn, flip;
};
/// Numbers (I32) of a product: the zero points of A and of B, as they are multiplied.
constexpr int64_t kProductNumbers = 2;

}  // namespace k

#ifdef VW
#include "plugins/llvm_cpu/kernels/parts/codes_tail.hpp"
#include "plugins/llvm_cpu/kernels/parts/lanes.hpp"
#include "plugins/llvm_cpu/kernels/parts/math.hpp"

namespace k::panel {

/// Bytes of four codes of a lane.
INL idx quad_bytes(Dot dot) { return dot == Dot::Pairs ? 8 : 4; }

/// Code i of the four of each lane, with its sign.
INL ivec nth(ivec quads, idx i) { return quads << (int32_t)(24 - 8 * i) >> 24; }

INL void put(Dot dot, idx OB, idx o, idx q, ivec quads, char* to, ivec& sum) {
  const ivec c[4] = {nth(quads, 0), nth(quads, 1), nth(quads, 2), nth(quads, 3)};
  sum += (c[0] + c[1]) + (c[2] + c[3]);
  if (dot != Dot::Pairs) {
    __builtin_memcpy(to + (q * OB + o) * VL * 4, &quads, sizeof quads);
    return;
  }
  UNROLL for (idx odd = 0; odd < 2; odd++) {
    const ivec pair = (c[odd] & 0xFFFF) | c[odd + 2] << 16;
    __builtin_memcpy(to + ((q * 2 + odd) * OB + o) * VL * 4, &pair, sizeof pair);
  }
}

/// Rows [k, k + 4) of `lanes` columns, whose codes lie side by side; those past K are 0.
INL ivec from_rows(const CodesPanel& l, const uint8_t* b, idx k, idx lanes) {
  ivec quads{};
#if GENERAL
  if (lanes == VL && k + 4 <= l.K) {  // nothing to ask of a row
    UNROLL for (idx i = 0; i < 4; i++)
      quads |= __builtin_convertvector(ld_codes<ubytes>(b + (k + i) * l.sbk, VL) ^ (uint8_t)l.flip, ivec) << (int32_t)(8 * i);
    return quads;
  }
#endif
  UNROLL for (idx i = 0; i < 4; i++) {
    if (k + i >= l.K) continue;
    const ubytes row = ld_codes<ubytes>(b + (k + i) * l.sbk, lanes) ^ (uint8_t)l.flip;
    quads |= __builtin_convertvector(row, ivec) << (int32_t)(8 * i);
  }
  return quads;
}
/// The same from any steps, code by code.
INL ivec from_anywhere(const CodesPanel& l, const uint8_t* b, idx k, idx lanes) {
  ivec quads{};
  ROLL for (idx n = 0; n < lanes; n++) {
    uint32_t quad = 0;
    ROLL for (idx i = 0; i < imin(4, l.K - k); i++) quad |= (uint32_t)(uint8_t)(b[(k + i) * l.sbk + n * l.sbn] ^ l.flip) << (8 * i);
    quads[n] = (int32_t)quad;
  }
  return quads;
}

/// `OB` blocks of VL columns, the last one of `last`, become [quads][OB][VL][4] codes; bias (I32 per column): what the zero points add
/// to a sum but for -(zero point of B) * (sum of A's row). quads * 4 >= K.
INL void pack(Dot dot, const CodesPanel& l, idx quads, idx OB, idx last, const uint8_t* b, const int32_t* zeros, char* to, int32_t* bias) {
  const idx turned = l.sbk == 1 && l.sbn != 1 ? l.K / (4 * VL) * VL : 0;  // quads that columns of whole vectors have
  ROLL for (idx o = 0; o < OB; o++) {
    const uint8_t* from = b + o * VL * l.sbn;
    const idx lanes = o == OB - 1 ? last : VL;
    ivec sum{};
    ROLL for (idx q = 0; q < (lanes == VL ? turned : 0); q += VL) {
      vec r[VL];
      UNROLL for (idx n = 0; n < VL; n++) {
        ivec column;
        __builtin_memcpy(&column, from + n * l.sbn + q * 4, sizeof column);
        r[n] = bits_as<vec>(column ^ (int32_t)(l.flip * 0x01010101));
      }
      transpose(r);
      UNROLL for (idx n = 0; n < VL; n++) put(dot, OB, o, q + n, bits_as<ivec>(r[n]), to, sum);
    }
    ROLL for (idx q = lanes == VL ? turned : 0; q < quads; q++)
      put(dot, OB, o, q, l.sbn == 1 ? from_rows(l, from, q * 4, lanes) : from_anywhere(l, from, q * 4, lanes), to, sum);
    const ivec constant = zeros[0] * ((int32_t)l.K * zeros[1] - sum);
    __builtin_memcpy(bias + o * VL, &constant, sizeof constant);
  }
}

}  // namespace k::panel
#endif
