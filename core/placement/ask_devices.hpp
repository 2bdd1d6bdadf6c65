// SPDX-License-Identifier: Apache-2.0
// core/placement: what devices say of a graph, without a plan.
#pragma once

#include <vector>

#include "core/placement/placement.hpp"

namespace optima {

struct AskedDevices {
  std::vector<PlanDevice> devices;                  ///< candidates, and those that wishes name
  std::vector<std::vector<DeviceAnswer>> answers;   ///< by node of the main graph, then device
};

/// Asks as make_plan() does, of the main graph alone, and places nothing: that nobody takes a node is an answer. What placing finds besides
/// (a group that is none, a pin that cannot be kept) is not in it. Errors: make_plan()'s without Placement.
Result<AskedDevices> ask_devices(const Graph& graph, const PlacementRequest& request);

/// The same as a plan has it, which knows what placing found besides.
AskedDevices answers_of(const Plan& plan);

}  // namespace optima
