// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/compiler: from groups of nodes to steps, buffers and constants. No LLVM here: kernels are specs.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/llvm_cpu/compiler/group.hpp"
#include "plugins/llvm_cpu/compiler/lowering.hpp"
#include "plugins/llvm_cpu/plan/plan.hpp"

namespace optima::llvm_cpu {

struct PlannerOptions {
  bool winograd = true;                                 ///< faster, and a little less exact, 3x3 convolutions
  std::function<bool(const KernelSpec&)> is_bad;        ///< a dense kernel that spilled: another tile is wanted
  ByReference by_reference{};                           ///< set: nodes without a kernel become steps of the reference
  std::set<uint32_t> blocked_outside{};                 ///< inputs and outputs of graph 0 that lie blocked in the caller's memory, lanes included
};

/// A plan whose kernels are still specs, and what else the artifact needs.
struct Draft {
  Plan plan;                        ///< kernels[i] is empty, its spec is specs[i]
  std::vector<KernelSpec> specs;
  std::string constants;            ///< the constants file
  std::vector<std::pair<std::string, uint32_t>> weights;  ///< name, index of optima_image.constants
  int64_t moved = 0;                ///< elements that steps carry from one layout to the other, or out to the caller
};

/// Appends to a constants file, aligned; the offset.
uint64_t add_constant(std::string& file, std::string_view bytes);

/// Plans graph 0. Deterministic. Throws sdk::Error(OPTIMA_UNSUPPORTED, node) like group_nodes.
/// `memo`, empty, gets what moving the plan takes, where it can be moved (replan.hpp) and the graph has no codes; `target` has to outlive it, and `by_reference` is set and says
/// no to every node. Steps then have a spec each, and computed constants are one each, equal ones too.
Draft plan_graph(const GraphView& graph, const Target& target, const PlannerOptions& options, PlanMemo* memo = nullptr);

}  // namespace optima::llvm_cpu
