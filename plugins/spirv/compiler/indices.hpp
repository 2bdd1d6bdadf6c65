// SPDX-License-Identifier: Apache-2.0
// plugins/spirv/compiler: which numbers of a graph's inputs are indices, and of what. Kernels keep those that are computed inside; those that come in are
// looked at there, as other runtimes do.
#pragma once

#include "lowering.hpp"

namespace spirv_plugin {

/// The indices of a node that takes or puts elements by them: which input they are, and the numbers that they may be. Nothing for other nodes.
struct Indices {
  uint32_t input;
  Range range;
};
std::optional<Indices> indices_of(const sdk::Node& node);
/// Why constant indices of the node reach outside; empty = they do not, or there are none.
std::string outside(const sdk::Node& node);
/// By input of the graph: what all of its elements may be, where nodes take elements by them as they are, or under other dims or types.
std::map<uint32_t, Range> index_ranges(const sdk::Graph& graph);

}  // namespace spirv_plugin
