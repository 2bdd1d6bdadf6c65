// SPDX-License-Identifier: Apache-2.0
// core/placement: the sentences for placements that cannot be. Private to the room.
#pragma once

#include "core/placement/units.hpp"

namespace optima::detail {

/// Ok when every node has a device it may go to; else the Placement error of the first that has none, with each device's reason, and
/// with what would help (advice.hpp).
/// With a required device: one error that lists the nodes that cannot go there.
Status refusal_of(const Graph& graph, const Candidates& candidates, const PlacementRequest& request, const Capability& capability,
                  const Choices& choices);

}  // namespace optima::detail
