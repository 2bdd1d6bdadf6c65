// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/compiler: which nodes become one kernel.
#pragma once

#include <vector>

#include "plugins/llvm_cpu/compiler/by_reference.hpp"
#include "plugins/llvm_cpu/compiler/plan_memo.hpp"

namespace optima::llvm_cpu {

/// Nodes that are lowered together, in graph order; the last one's output 0 is the group's result when there are several.
struct Group {
  const Lowering* lowering = nullptr;
  std::vector<NodeView> nodes;
  std::optional<Unit> unit{};  ///< set: `lowering->lower_unit` gets it
};

/// Whether some node reads or makes codes by itself: without, there are no units, and nothing waits for a reader.
bool has_codes(const GraphView& graph);

/// Graph 0 cut into groups, in an order in which every group finds its operands made. Nodes that nothing uses are left out.
/// Throws sdk::Error(OPTIMA_UNSUPPORTED, node) for a node that judge() refuses, unless `by_reference` is set: then it is a group of its own
/// with reference_row(), as are those for which that says yes.
/// `memo`, which must be empty, gets groups and questions; `target` has to outlive it, and the graph has no codes.
std::vector<Group> group_nodes(const GraphView& graph, const Target& target, const ByReference& by_reference = {}, PlanMemo* memo = nullptr);

}  // namespace optima::llvm_cpu
