// SPDX-License-Identifier: Apache-2.0
// core/report: what nodes take on devices, as far as a plan and what is given beside it tell. Private to the room.
#pragma once

#include <vector>

#include "core/placement/given_costs.hpp"
#include "core/plan/plan.hpp"
#include "core/report/what_if.hpp"

namespace optima::detail {

/// Microseconds of every node on every device, also of those that refuse it: the first that knows of a given costs file, the plan
/// itself, the roofline model with given rates, and the roofline model of a typical processor scaled to what is known of the device
/// (docs/costs-format.md). What the host drives is not in here.
class PlanCosts {
 public:
  /// The plan keeps its question.
  PlanCosts(const Plan& plan, const CostSources& given);

  const NodeTime& of(uint32_t node, uint32_t device) const { return times_[size_t{node} * devices_ + device]; }
  /// launch, latency and per_byte; compute is empty.
  const CostTable& between() const { return between_; }

 private:
  void take_plan(const Plan& plan);
  void take_measured(const GivenCosts& given, uint32_t device);

  size_t devices_;
  std::vector<NodeTime> times_;
  CostTable between_;
};

}  // namespace optima::detail
