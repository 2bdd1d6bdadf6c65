// SPDX-License-Identifier: Apache-2.0
// core/placement: from the splitter's numbers to a Plan with tensors and reasons. Private to the room.
#pragma once

#include "core/cost/work.hpp"
#include "core/placement/units.hpp"
#include "core/split/limits.hpp"

namespace optima::detail {

/// Of each node of the main graph, at the sizes that matter most; not exact where a size is not known before running.
std::vector<Work> works_at(const Graph& graph, const PlacementRequest& request);

/// Subgraphs with inputs and outputs, cut tensors, bytes; nodes without their reasons. `clone_cheap` = false where limits apply: a
/// clone might break them.
Plan assemble(const Graph& graph, const std::vector<Work>& works, const Uses& uses, const Candidates& candidates, const Capability& capability,
              const Choices& choices, const Split& split, bool clone_cheap);

/// Fills why, sentence, asked and answers of every node, and notes on devices passed over and subgraphs closed.
void add_reasons(Plan& plan, const Graph& graph, const Candidates& candidates, const PlacementRequest& request, Capability&& capability,
                 const Choices& choices, const LimitedSplit& found);

}  // namespace optima::detail
