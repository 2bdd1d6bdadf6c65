// SPDX-License-Identifier: Apache-2.0
#include "core/plan/question.hpp"

#include <algorithm>

#include "core/plan/plan.hpp"
#include "core/support/text.hpp"

namespace optima {
namespace {

uint64_t bit(uint32_t device) { return uint64_t{1} << device; }

template <class... T>
Status bad(const T&... parts) {
  return invalid_input(cat(parts...));
}

// Says where in `numbers` the first one is that is not below `end`.
Status below(std::string_view what, const std::vector<uint32_t>& numbers, size_t end) {
  for (size_t i = 0; i < numbers.size(); ++i)
    if (numbers[i] >= end) return bad(what, "[", i, "]: found ", numbers[i], ", wanted one below ", end);
  return {};
}

Status check_units(const PlanQuestion& q, size_t nodes) {
  if (q.unit_of.size() != nodes) return bad("units: found ", q.unit_of.size(), ", wanted one for each of ", nodes, " nodes");
  OPTIMA_RETURN_IF_ERROR(below("units", q.unit_of, q.problem.units()));
  std::vector<uint32_t> sizes(q.problem.units(), 0);
  for (uint32_t unit : q.unit_of) ++sizes[unit];
  for (size_t u = 0; u < sizes.size(); ++u)
    if (sizes[u] == 0) return bad("units: unit ", u, " of ", sizes.size(), " has no node");
  if (q.problem.nodes != sizes) return bad("units: their sizes are not those of the problem");
  for (const auto& [node, units] : q.copies) {
    if (node >= nodes) return bad("copies: found node ", node, ", wanted one below ", nodes);
    OPTIMA_RETURN_IF_ERROR(below(cat("copies of node ", node), units, q.problem.units()));
  }
  return {};
}

Status check_rules(const PlanQuestion& q, size_t nodes, uint32_t devices) {
  const uint64_t known = devices == kMostDevices ? ~uint64_t{0} : bit(devices) - 1;
  for (size_t r = 0; r < q.rules.size(); ++r) {
    if ((q.rules[r].limit | q.rules[r].otherwise) & ~known) return bad("rules[", r, "]: names a device beyond the ", devices, " of the plan");
    OPTIMA_RETURN_IF_ERROR(below(cat("rules[", r, "].first_of"), q.rules[r].first_of, devices));
  }
  if (q.rule_of.size() != nodes) return bad("rule_of: found ", q.rule_of.size(), ", wanted one for each of ", nodes, " nodes");
  for (size_t n = 0; n < nodes; ++n)
    if (q.rule_of[n] != PlanQuestion::kTogether && q.rule_of[n] >= q.rules.size())
      return bad("rule_of[", n, "]: found ", q.rule_of[n], ", wanted one below ", q.rules.size());
  for (size_t t = 0; t < q.together.size(); ++t) {
    if (q.together[t].unit >= q.problem.units()) return bad("together[", t, "]: found unit ", q.together[t].unit, " of ", q.problem.units());
    if (t > 0 && q.together[t].unit < q.together[t - 1].unit)
      return bad("together[", t, "]: found unit ", q.together[t].unit, " behind ", q.together[t - 1].unit);
    if (q.together[t].rule >= q.rules.size()) return bad("together[", t, "]: found rule ", q.together[t].rule, " of ", q.rules.size());
    OPTIMA_RETURN_IF_ERROR(below(cat("together[", t, "].nodes"), q.together[t].nodes, nodes));
  }
  return {};
}

// Those that judge the node in its own unit.
template <class F>
void each_rule(const PlanQuestion& q, uint32_t node, F&& f) {
  if (q.rule_of[node] != PlanQuestion::kTogether) return f(q.rules[q.rule_of[node]]);
  const uint32_t unit = q.unit_of[node];
  auto all = std::lower_bound(q.together.begin(), q.together.end(), unit, [](const JudgedTogether& one, uint32_t of) { return one.unit < of; });
  for (; all != q.together.end() && all->unit == unit; ++all)
    if (std::binary_search(all->nodes.begin(), all->nodes.end(), node)) f(q.rules[all->rule]);
}

}  // namespace

uint64_t PlaceRule::leaves(uint64_t yes) const {
  const uint64_t left = limit & yes;
  for (uint32_t device : first_of)
    if (left & bit(device)) return bit(device);
  return left ? left : otherwise;
}

std::vector<uint64_t> PlanQuestion::allow_if(const std::vector<uint64_t>& yes) const {
  std::vector<uint64_t> out(problem.units(), ~uint64_t{0});
  for (size_t n = 0; n < unit_of.size(); ++n)
    if (rule_of[n] != kTogether) out[unit_of[n]] &= rules[rule_of[n]].leaves(yes[n]);
  for (const JudgedTogether& all : together) {
    uint64_t each = ~uint64_t{0};
    for (uint32_t n : all.nodes) each &= yes[n];
    out[all.unit] &= rules[all.rule].leaves(each);
  }
  return out;
}

bool PlanQuestion::may_have(uint32_t node, uint32_t device) const {
  bool may = true;
  each_rule(*this, node, [&](const PlaceRule& rule) { may &= (rule.limit & bit(device)) != 0; });
  return may;
}

bool PlanQuestion::must_have(uint32_t node) const {
  bool must = false;
  each_rule(*this, node, [&](const PlaceRule& rule) { must |= !rule.first_of.empty() || rule.otherwise; });
  return must;
}

CostTable PlanQuestion::costs(const std::vector<double>& times, const CostTable& moving) const {
  CostTable out = moving;
  const size_t devices = problem.devices;
  out.compute.assign(problem.units() * devices, 0);
  for (size_t n = 0; n < unit_of.size(); ++n)
    for (size_t d = 0; d < devices; ++d) {
      double& sum = out.compute[unit_of[n] * devices + d];
      const double time = times[n * devices + d];
      sum = sum < 0 || time < 0 ? -1 : sum + time;
    }
  for (const auto& [n, units] : copies)
    for (uint32_t u : units)
      for (size_t d = 0; d < devices; ++d)
        if (double& sum = out.compute[u * devices + d]; sum >= 0) sum += std::max(0.0, times[n * devices + d]);
  return out;
}

Status PlanQuestion::fits(const Plan& plan) const {
  const auto devices = static_cast<uint32_t>(plan.devices.size());
  if (problem.devices != devices) return bad("found ", problem.devices, " devices, wanted the ", devices, " of the plan");
  if (!problem.well_formed()) return bad("units and tensors do not make a graph in topological order");
  OPTIMA_RETURN_IF_ERROR(check_units(*this, plan.nodes.size()));
  OPTIMA_RETURN_IF_ERROR(check_rules(*this, plan.nodes.size(), devices));
  if (limits.any() && !limits.well_formed(problem)) return bad("limits: they do not fit the units, tensors and devices");
  if (!plan.estimate) return {};
  SplitProblem no_units;
  no_units.devices = devices;
  return between.well_formed(no_units) ? Status() : bad("costs: wanted times of 0 or more for each device and each pair of devices");
}

}  // namespace optima
