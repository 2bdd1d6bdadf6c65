// SPDX-License-Identifier: Apache-2.0
// core/placement: what each node costs on each device, and where that is known from. Private to the room.
#pragma once

#include "core/placement/given_costs.hpp"
#include "core/placement/limits_of.hpp"
#include "core/placement/units.hpp"
#include "core/split/cost_split.hpp"

namespace optima::detail {

/// Costs in microseconds.
struct NodeCosts {
  std::vector<NodeTime> entries;  ///< node * devices + device; known where Choices::allow has the device
  CostTable between;           ///< without `compute`
  uint64_t unknown = 0;  ///< devices that nobody named and of which no cost is known: every unit has another
  std::vector<std::string> notes;
};

/// InvalidInput when a device may take a node and nothing tells what that costs; one that was only found on this machine is left out where
/// every unit has another, with a note. Cancelled is passed on; a plugin whose estimate() fails,
/// or whose numbers are no times, hurts itself only, with a note. A node that the host drives costs what the plans of its bodies are
/// estimated at: of an If the dearer branch, else the body times its trips; trips not known count as 1, with a note.
Result<NodeCosts> find_costs(const Graph& graph, const PackedGraph& packed, const Candidates& candidates, const Choices& choices,
                             const std::vector<BodyPlan>& bodies, const PlacementRequest& request);

/// The plan of the least estimated time, with estimate and notes; what is known of costs, and what moving a unit elsewhere would
/// change, goes into the answers of `capability`, the split into `found`, what starting and moving costs into `question`; devices left out
/// (NodeCosts::unknown) leave `choices` and `question`. Where that plan cannot be cut within the limits, the plan of the fewest subgraphs
/// that can, with a note; Placement as conflict_error() when there is none.
Result<Plan> plan_by_time(const Graph& graph, const PackedGraph& packed, const Uses& uses, const Candidates& candidates, Capability& capability,
                          Choices& choices, PlanQuestion& question, const std::vector<BodyPlan>& bodies, const PlacementRequest& request,
                          LimitedSplit& found);

}  // namespace optima::detail
