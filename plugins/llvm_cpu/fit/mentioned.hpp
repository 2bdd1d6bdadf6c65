// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/fit: sizes that a graph itself tells of. Compiler half only.
#pragma once

#include <cstdint>
#include <vector>

#include "optima/plugin/graph.hpp"

namespace optima::llvm_cpu {

/// Numbers that an open size may have to be, because a graph that was traced at one size holds it: dims of its constants, their elements where they are few whole numbers
/// (targets of Reshape and Expand, ends of Slice, indices), and, as indices reach one less, the next to each element. Those that occur most first; `most` at most.
std::vector<int64_t> mentioned_sizes(const optima_graph& graph, size_t most);

}  // namespace optima::llvm_cpu
