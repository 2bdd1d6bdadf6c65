// SPDX-License-Identifier: Apache-2.0
// core/placement: from measured times of a plan's subgraphs to costs of its nodes.
#pragma once

#include <map>
#include <vector>

#include "core/cost/costs_file.hpp"
#include "core/plan/plan.hpp"

namespace optima {

/// What one subgraph took, in microseconds of one run.
struct SubgraphTime {
  double whole = 0;
  std::map<uint32_t, double> nodes;  ///< by node id: what the plugin's profile told; empty without one
  double outside = -1;               ///< what the nodes of a run left of it: the median over the runs, not of the medians; negative = not known
};

/// Costs of every node on the device it ran on. With a profile, a node gets the time that it tells; nodes that it does not name ran as
/// part of others and get 0; what is left of the subgraph's time (`outside`) is what starting it costs, and goes into launch_us. Without, the time is
/// shared out to the nodes as the roofline model would (processor of typical rates), so that they add up to it.
/// Each subgraph with its whole time and the bytes that cross its boundary goes into the device's runs.
/// `loop_us`: what the run loop spent around each subgraph; negative = not known.
/// Bodies that the host drives are in it, their subgraphs' times by their trips (1 where not known); a branch that was not taken is not.
/// Requires one time per subgraph of the plan and the plans inside it, by number, finite and not negative.
MeasuredCosts measured_costs(const Plan& plan, const std::vector<SubgraphTime>& times, double loop_us);

}  // namespace optima
