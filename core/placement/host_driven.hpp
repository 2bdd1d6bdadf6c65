// SPDX-License-Identifier: Apache-2.0
// core/placement: which If, Loop and Scan the host runs itself, and the plans of their bodies. Private to the room.
#pragma once

#include "core/placement/capability.hpp"

namespace optima::detail {

/// Fills capability.host. A node with bodies goes whole to a device that takes it and that every wish inside allows. The host
/// drives it when there is none, or when it is asked to; not when the node itself is pinned (a pin that also covers all nodes
/// of its bodies by name, glob or `*` is kept by them), --require-device is given, or its values are none the host can carry. If the
/// host drives any node, it becomes the last device, with an answer for every node.
/// InvalidInput: the host is asked to run a node that is no If, Loop or Scan. Placement: it would have to drive one and cannot.
Status find_host_driven(const Graph& graph, const PlacementRequest& request, Candidates& candidates, Capability& capability);

/// How often the bodies of a node that the host drives run: Loop by a constant trip count when nothing can end it earlier, Scan by a
/// static length. Empty when it depends on the data.
std::optional<int64_t> known_trips(const Graph& graph, const image::Node& node);

/// Empty when the host can drive the node; otherwise what is in the way.
std::string why_not_driven(const Graph& graph, const image::Node& node);

}  // namespace optima::detail
