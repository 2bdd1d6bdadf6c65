// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/compiler: from groups of nodes to steps, buffers and constants. No LLVM here: kernels are specs.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "plugins/llvm_cpu/compiler/group.hpp"
#include "plugins/llvm_cpu/compiler/lowering.hpp"
#include "plugins/llvm_cpu/plan/plan.hpp"

namespace optima::llvm_cpu {

struct PlannerOptions {
  bool winograd = true;                                 ///< faster, and a little less exact, 3x3 convolutions
  std::function<bool(const KernelSpec&)> is_bad;        ///< a dense kernel that spilled: another tile is wanted
};

/// A plan whose kernels are still specs, and what else the artifact needs.
struct Draft {
  Plan plan;                        ///< kernels[i] is empty, its spec is specs[i]
  std::vector<KernelSpec> specs;
  std::string constants;            ///< the constants file
  std::vector<std::pair<std::string, uint32_t>> weights;  ///< name, index of optima_image.constants
};

/// Plans graph 0. Deterministic. Throws sdk::Error(OPTIMA_UNSUPPORTED, node) like group_nodes.
Draft plan_graph(const GraphView& graph, const Target& target, const PlannerOptions& options);

}  // namespace optima::llvm_cpu
