// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: VL rows of VL floats, transposed in registers by shuffles that are one instruction each: pairs and fours inside each 128 bits,
// then whole quarters. Shuffles that cross them earlier LLVM makes into tables in memory, and spills.
#pragma once
#include "plugins/llvm_cpu/kernels/parts/vec.hpp"

namespace k {
namespace square {

constexpr int kQuads = VL / 4;  ///< of 128 bits

/// Which lane of (a, b) each lane of a shuffle takes; `odd`: the second half of each pair of results.
struct Pairs {  // a0 b0 a1 b1 of each quad
  static constexpr int at(int i, int odd) { return i / 4 * 4 + i % 4 / 2 + odd * 2 + i % 2 * int(VL); }
};
struct Halves {  // a0 a1 b0 b1
  static constexpr int at(int i, int odd) { return i / 4 * 4 + i % 2 + odd * 2 + i % 4 / 2 * int(VL); }
};
struct Quads {  // even quads of a, then of b
  static constexpr int at(int i, int odd) {
    const int quad = i / 4, half = kQuads > 1 ? kQuads / 2 : 1;
    return (quad % half * 2 + odd) * 4 + i % 4 + quad / half * int(VL);
  }
};
template <class T, T... I>
struct List {};
template <class Mask, int Odd, int... I>
INL vec shuffled(vec a, vec b, List<int, I...>) { return __builtin_shufflevector(a, b, Mask::at(I, Odd)...); }
template <class Mask, int Odd>
INL vec take(vec a, vec b) { return shuffled<Mask, Odd>(a, b, __make_integer_seq<List, int, int(VL)>()); }

/// Four rows: afterwards quad q of row k holds column 4q + k.
INL void fours(vec* r) {
  const vec a = take<Pairs, 0>(r[0], r[1]), b = take<Pairs, 1>(r[0], r[1]), c = take<Pairs, 0>(r[2], r[3]), d = take<Pairs, 1>(r[2], r[3]);
  r[0] = take<Halves, 0>(a, c), r[1] = take<Halves, 1>(a, c), r[2] = take<Halves, 0>(b, d), r[3] = take<Halves, 1>(b, d);
}

}  // namespace square

INL void transpose(vec* r) {
  using namespace square;
  UNROLL for (idx g = 0; g < VL; g += 4) fours(r + g);
  UNROLL for (idx k = 0; k < 4; k++) {
    if (kQuads == 2) {
      const vec a = r[k], b = r[(k + 4) % VL];
      r[k] = take<Quads, 0>(a, b), r[(k + 4) % VL] = take<Quads, 1>(a, b);
    } else if (kQuads == 4) {
      const vec v0 = r[k], v1 = r[(k + 4) % VL], v2 = r[(k + 8) % VL], v3 = r[(k + 12) % VL];
      const vec a = take<Quads, 0>(v0, v1), b = take<Quads, 1>(v0, v1), c = take<Quads, 0>(v2, v3), d = take<Quads, 1>(v2, v3);
      r[k] = take<Quads, 0>(a, c), r[(k + 4) % VL] = take<Quads, 0>(b, d);
      r[(k + 8) % VL] = take<Quads, 1>(a, c), r[(k + 12) % VL] = take<Quads, 1>(b, d);
    }
  }
}

}  // namespace k
