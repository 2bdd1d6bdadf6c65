// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/runtime: what part of a step each thread is handed.
#pragma once

#include <cstdint>

#include "plugins/llvm_cpu/compiler/op.hpp"

namespace optima::llvm_cpu {

/// How the pieces of a step fall to its parts: in every turn parts share so many blocks of so many pieces, in order.
struct Cut {
  int turns, parts;
  int64_t blocks, pieces;
  /// The first piece of a part in [0, turns * parts); the last one's end is the next one's begin.
  int64_t begin(int part) const { return (part / parts * blocks + blocks * (part % parts) / parts) * pieces; }
};

/// Whole units; or, where these are chains fewer than threads, the turns of one chain after the other, each cut in its slices.
Cut cut_of(const Cutting& step, int threads);

}  // namespace optima::llvm_cpu
