// SPDX-License-Identifier: Apache-2.0
// core/placement: from answers and wishes to the splitter's units. Private to the room.
#pragma once

#include <vector>

#include "core/placement/capability.hpp"
#include "core/placement/split.hpp"

namespace optima::detail {

/// Which devices each node may go to, and which nodes move together.
struct Choices {
  std::vector<uint64_t> allow;             ///< by main graph node
  std::vector<const Wish*> wish;           ///< by node: what decides, null = nothing
  std::vector<std::vector<uint32_t>> units;  ///< nodes, ascending; units in a topological order
  std::vector<uint32_t> unit_of;           ///< by node
};

/// Settles wishes and groups; turns the yes of a group that cannot move as one into a no. Placement errors: a pin refused, a
/// node that nobody takes, required device not met, wishes for the nodes of one body that exclude each other.
Result<Choices> settle(const Graph& graph, const Uses& uses, const Candidates& candidates, const PlacementRequest& request, Capability& capability);

SplitProblem problem_of(const Graph& graph, const Uses& uses, const Candidates& candidates, const Capability& capability, const Choices& choices);

/// "'conv_1' (Conv, f32[1,3] f32[8,3] -> f32[1,8])" for messages.
std::string node_text(const Graph& graph, const image::Node& node);

}  // namespace optima::detail
