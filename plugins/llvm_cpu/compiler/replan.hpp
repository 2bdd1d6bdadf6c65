// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/compiler: a plan moved to other sizes of its graph, which costs a part of planning anew and comes to the same: what was decided by
// dims or elements is decided again where these have changed, and where a decision is another one there is no moving.
#pragma once

#include <vector>

#include "plugins/llvm_cpu/compiler/plan_memo.hpp"
#include "plugins/llvm_cpu/compiler/planner.hpp"

namespace optima::llvm_cpu {

/// What is another one in a plan that was moved, by number; arguments of any step may have other offsets.
struct Moved {
  std::vector<uint32_t> steps;      ///< kernel, units or label
  std::vector<uint32_t> constants;  ///< elements of the graph's constants
};

/// By value of the graph.
struct Changes {
  std::vector<bool> changed;       ///< dims or elements are others than they were
  std::vector<const void*> known;  ///< equal ones: type, dims and elements of constants are the same; others may be
};

/// Moves a draft of plan_graph(), with its memo, to the dims and constants that the graph has now. `changes` says where these are others than
/// they were; all else of the image is the same, and so are target and options. False when only planning anew does: draft and memo are then of no use.
bool replan(const GraphView& graph, const Target& target, const PlannerOptions& options, const Changes& changes, PlanMemo& memo, Draft& draft, Moved& moved);

}  // namespace optima::llvm_cpu
