// SPDX-License-Identifier: Apache-2.0
#include "core/report/plan_costs.hpp"

#include <string_view>

namespace optima::detail {
namespace {

// The words of the format, so that views of them stay.
std::string_view known_source(std::string_view source) {
  for (const std::string_view one : {"profile", "share", "given", "fit", "plugin", "roofline", "scaled"})
    if (one == source) return one;
  return "plan";
}

}  // namespace

PlanCosts::PlanCosts(const Plan& plan, const CostSources& given) : devices_(plan.devices.size()), times_(plan.nodes.size() * devices_) {
  std::vector<std::string_view> names;
  std::vector<Work> work;
  for (const PlacedNode& node : plan.nodes) names.push_back(node.name), work.push_back(node.work);
  const GivenCosts costs(plan.devices, names, work, given.costs, given.settings, given.links);
  between_ = costs.between(plan.estimate ? &plan.question->between : nullptr);
  take_plan(plan);
  for (uint32_t d = 0; d < devices_; ++d) {
    if (is_host(plan.devices[d])) continue;
    take_measured(costs, d);
    costs.model_rest(d, [](size_t) { return true; }, times_);
  }
}

void PlanCosts::take_plan(const Plan& plan) {
  for (size_t n = 0; n < plan.nodes.size(); ++n)
    for (uint32_t d = 0; d < plan.nodes[n].answers.size(); ++d)
      if (const DeviceAnswer& answer = plan.nodes[n].answers[d]; answer.microseconds >= 0 && !is_host(plan.devices[d]))
        times_[n * devices_ + d] = {answer.microseconds, known_source(answer.cost_source)};
}

void PlanCosts::take_measured(const GivenCosts& given, uint32_t d) {
  const std::vector<DeviceCosts::Node>& nodes = given.measured(d).nodes;
  for (size_t n = 0; n < nodes.size(); ++n)
    if (nodes[n].microseconds >= 0) times_[n * devices_ + d] = {nodes[n].microseconds, nodes[n].source};
}

}  // namespace optima::detail
