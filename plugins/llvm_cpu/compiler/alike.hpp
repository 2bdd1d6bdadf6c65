// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/compiler: questions and groups of a plan that come to the same where what they read is the same, as those of equal layers do.
#pragma once

#include "plugins/llvm_cpu/compiler/plan_memo.hpp"

namespace optima::llvm_cpu {

/// Fills in PlanMemo::Alike of questions and groups. Groups of plans with pieces of concatenations get none: their operands move by themselves.
void find_alike(const GraphView& graph, PlanMemo& memo);

}  // namespace optima::llvm_cpu
