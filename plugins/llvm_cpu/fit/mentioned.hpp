// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/fit: sizes that a graph itself tells of. Compiler half only.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "optima/plugin/graph.hpp"

namespace optima::llvm_cpu {

struct Mentions {
  std::vector<int64_t> sizes;
  std::vector<std::pair<int64_t, int64_t>> pairs;  ///< of neighbouring dims
};

/// Numbers that an open size may have to be, because a graph that was traced at one size holds it: dims of its constants, their elements where they are few whole numbers
/// (targets of Reshape and Expand, ends of Slice, indices), and, as indices reach one less, the next to each element. Those that occur most first; `most` sizes
/// at most, and a third as many pairs.
Mentions mentions_of(const optima_graph& graph, size_t most);

}  // namespace optima::llvm_cpu
