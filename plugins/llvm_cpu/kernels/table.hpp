// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: bytes looked up in a table of 256.
#pragma once
#include "plugins/llvm_cpu/kernels/parts/lookup.hpp"

namespace k {

/// Pieces of `piece` bytes of `bytes` in all; `from`, `to`: bytes from piece to piece.
struct Table {
  static constexpr char entry[] = "k_table";
  static constexpr void sizes(auto& l, auto mark) { mark(l.bytes, l.piece, l.from, l.to); }
  Lookup kind;
  int64_t bytes, piece, from, to;
};

}  // namespace k

#ifdef VW  // the template, which only clang compiles
// to[i] = table[from[i]]. args: from, table (256 bytes), to; they do not overlap. units: ceil(bytes / piece).
TEMPLATE(k_table, Table, l) {
  using namespace k;
  const auto* table = (const uint8_t*)args[1];
  ROLL for (idx u = u0; u < u1; u++) {
    const auto* in = (const uint8_t*)args[0] + u * l.from;
    auto* out = (uint8_t*)args[2] + u * l.to;
    lookup::run(l.kind, table, in, out, imin(l.piece, l.bytes - u * l.piece));
  }
}
#endif
