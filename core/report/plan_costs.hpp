// SPDX-License-Identifier: Apache-2.0
// core/report: what nodes take on devices, as far as a plan and what is given beside it tell. Private to the room.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "core/plan/plan.hpp"
#include "core/report/what_if.hpp"
#include "core/split/cost_split.hpp"

namespace optima::detail {

/// Microseconds of every node on every device, also of those that refuse it: the first that knows of a given costs file, the plan
/// itself, the roofline model with given rates, and the roofline model of a typical processor scaled to what is known of the device
/// (docs/costs-format.md). What the host drives is not in here.
class PlanCosts {
 public:
  /// The plan keeps its question.
  PlanCosts(const Plan& plan, const CostSources& given);

  struct Time {
    double microseconds = -1;  ///< negative = not known
    std::string_view source;
  };
  const Time& of(uint32_t node, uint32_t device) const { return times_[size_t{node} * devices_ + device]; }
  /// launch, latency and per_byte; compute is empty.
  const CostTable& between() const { return between_; }

 private:
  Time& at(size_t node, uint32_t device) { return times_[node * devices_ + device]; }
  void take_plan(const Plan& plan);
  void take_given(const Plan& plan, const CostSources& given, uint32_t device);
  void model_rest(const Plan& plan, const CostSources& given, uint32_t device);
  void take_links(const Plan& plan, const CostSources& given);

  size_t devices_;
  std::vector<Time> times_;
  CostTable between_;
  std::vector<double> edges_;  // from * devices + to: what a byte costs at the edges of subgraphs on either side, as given
};

}  // namespace optima::detail
