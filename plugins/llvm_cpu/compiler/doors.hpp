// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/compiler: blocked values that stay blocked where they leave one subgraph and enter another. Knows no LLVM.
#pragma once

#include <optional>

#include "optima/plugin/door.hpp"
#include "plugins/llvm_cpu/compiler/planner.hpp"

namespace optima::llvm_cpu {

/// The blocked layout of a value of graph 0 as a door, "NCHW16c"; with "*" behind it when C is no multiple of the vector, since lanes past the
/// last channel hold anything. Nothing for a value that has no blocked layout, or less than one vector of channels.
std::optional<sdk::Door> blocked_door(const GraphView& graph, uint32_t value, const Target& target);

/// Whether fewer elements are moved between layouts when this input or output of graph 0 lies blocked outside the subgraph.
bool saves_moves(const GraphView& graph, uint32_t value, const Target& target, PlannerOptions options);

}  // namespace optima::llvm_cpu
