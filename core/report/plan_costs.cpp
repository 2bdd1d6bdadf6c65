// SPDX-License-Identifier: Apache-2.0
#include "core/report/plan_costs.hpp"

#include "core/cost/device_costs.hpp"
#include "core/cost/work.hpp"

namespace optima::detail {
namespace {

bool fits(const DeviceName& name, const PlanDevice& device) { return name.fits({device.plugin, device.target.kind, device.target.slot}); }

// The words of the format, so that views of them stay.
std::string_view known_source(std::string_view source) {
  for (const std::string_view one : {"profile", "share", "given", "fit", "plugin", "roofline", "scaled"})
    if (one == source) return one;
  return "plan";
}

}  // namespace

PlanCosts::PlanCosts(const Plan& plan, const CostSources& given) : devices_(plan.devices.size()), times_(plan.nodes.size() * devices_) {
  between_.launch.assign(devices_, 0);
  between_.latency.assign(devices_ * devices_, 0);
  between_.per_byte.assign(devices_ * devices_, 0);
  edges_.assign(devices_ * devices_, 0);
  take_plan(plan);
  for (uint32_t d = 0; d < devices_; ++d) {
    if (is_host(plan.devices[d])) continue;
    take_given(plan, given, d);
    model_rest(plan, given, d);
  }
  take_links(plan, given);
}

void PlanCosts::take_plan(const Plan& plan) {
  for (size_t n = 0; n < plan.nodes.size(); ++n)
    for (uint32_t d = 0; d < plan.nodes[n].answers.size(); ++d)
      if (const DeviceAnswer& answer = plan.nodes[n].answers[d]; answer.microseconds >= 0 && !is_host(plan.devices[d]))
        at(n, d) = {answer.microseconds, known_source(answer.cost_source)};
  if (plan.estimate) between_ = plan.question->between;
}

void PlanCosts::take_given(const Plan& plan, const CostSources& given, uint32_t d) {
  std::vector<const MeasuredDevice*> measured;
  for (const MeasuredCosts& costs : given.costs)
    for (const MeasuredDevice& one : costs.devices)
      if (fits(one.name, plan.devices[d])) measured.push_back(&one);
  std::vector<std::string_view> names;
  for (const PlacedNode& node : plan.nodes) names.push_back(node.name);
  const DeviceCosts costs = device_costs(measured, names);
  if (costs.launch_us >= 0) between_.launch[d] = costs.launch_us;
  for (size_t n = 0; n < names.size(); ++n)
    if (costs.nodes[n].microseconds >= 0) at(n, d) = {costs.nodes[n].microseconds, costs.nodes[n].source};
  for (size_t other = 0; other < devices_; ++other) {
    if (other == d) continue;
    edges_[d * devices_ + other] += costs.us_per_byte_out;
    edges_[other * devices_ + d] += costs.us_per_byte_in;
  }
}

void PlanCosts::model_rest(const Plan& plan, const CostSources& given, uint32_t d) {
  double gflops = 0, gbytes = 0, known = 0, modelled = 0;
  for (const bool full : {false, true})  // what is said of the full name wins
    for (const DeviceSettings& s : given.settings) {
      if (full == s.name.plugin.empty() || !fits(s.name, plan.devices[d])) continue;
      if (s.gflops > 0) gflops = s.gflops;
      if (s.gbytes_per_s > 0) gbytes = s.gbytes_per_s;
      if (s.launch_us > 0) between_.launch[d] = s.launch_us;
    }
  const auto work = [&](size_t n) { return Work{plan.nodes[n].flops, plan.nodes[n].bytes, true}; };
  for (size_t n = 0; n < plan.nodes.size(); ++n)
    if (at(n, d).microseconds >= 0) known += at(n, d).microseconds, modelled += roofline_us(work(n), kTypicalGflops, kTypicalGbytes);
  const bool described = gflops > 0 || gbytes > 0;
  if (!described && modelled == 0) return;
  for (size_t n = 0; n < plan.nodes.size(); ++n) {
    if (at(n, d).microseconds >= 0) continue;
    if (described) at(n, d) = {roofline_us(work(n), gflops, gbytes), "roofline"};
    else at(n, d) = {roofline_us(work(n), kTypicalGflops, kTypicalGbytes) * known / modelled, "scaled"};
  }
}

// Those of the question hold what the edges of subgraphs cost there.
void PlanCosts::take_links(const Plan& plan, const CostSources& given) {
  if (!plan.estimate) between_.per_byte = edges_;
  for (const LinkCost& link : given.links)
    for (uint32_t from = 0; from < devices_; ++from)
      for (uint32_t to = 0; to < devices_; ++to) {
        if (from == to || !fits(link.from, plan.devices[from]) || !fits(link.to, plan.devices[to])) continue;
        between_.latency[from * devices_ + to] = link.latency_us;
        between_.per_byte[from * devices_ + to] = edges_[from * devices_ + to] + (link.gbytes_per_s > 0 ? 1e-3 / link.gbytes_per_s : 0);
      }
}

}  // namespace optima::detail
