// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/report/replay.hpp"

namespace optima::detail {
namespace {

uint64_t bit(uint32_t device) { return uint64_t{1} << device; }

}  // namespace

std::optional<Replay::Found> Replay::if_taken(const std::vector<uint32_t>& nodes, uint32_t device, const std::vector<Driven>& driven) const {
  SplitProblem changed = problem_;
  std::vector<uint64_t> also(plan_->nodes.size(), 0);
  for (uint32_t n : nodes) also[n] = bit(device);
  for (uint32_t n : nodes) changed.allow[unit_of_[n]] = allow_of_unit(unit_of_[n], also);
  return ask(changed, driven);
}

std::optional<uint32_t> Replay::subgraphs_if_pinned(uint32_t node, uint32_t device) const {
  SplitProblem changed = problem_;
  changed.allow[unit_of_[node]] = bit(device);
  changed.avoid[unit_of_[node]] &= bit(device);
  return subgraphs_of(changed);
}

std::optional<uint32_t> Replay::subgraphs_of(const SplitProblem& problem) const {
  const std::optional<Split> found = fewest(problem);
  return found ? std::optional(static_cast<uint32_t>(found->devices.size())) : std::nullopt;
}

std::optional<Replay::Found> Replay::ask(const SplitProblem& problem, const std::vector<Driven>& driven) const {
  const CostTable table = table_of(driven);
  const bool by_time = plan_->estimate && all_known(problem, table);
  const std::optional<Split> found = by_time ? fastest(problem, table) : fewest(problem);
  if (!found) return std::nullopt;
  Found out = measure(*found, table);
  for (const Driven& d : driven)
    if (is_host(plan_->devices[found->devices[found->part[unit_of_[d.node]]]])) out.driven.push_back(d.node);
  return out;
}

std::optional<Split> Replay::fewest(const SplitProblem& problem) const {
  if (!limits_.any()) return split(problem);
  LimitedSplit found = split_within(problem, limits_);
  if (found.conflict) return std::nullopt;
  return std::move(found.split);
}

// As plan_by_time() of core/placement does it.
std::optional<Split> Replay::fastest(const SplitProblem& problem, const CostTable& table) const {
  const CostSplit found = split_by_cost(problem, table);
  Split out;
  out.devices = found.devices;
  out.part = found.part;
  if (!limits_.any()) return out;
  SplitProblem pinned = problem;
  pinned.avoid.clear();
  for (uint32_t u = 0; u < problem.units(); ++u) pinned.allow[u] = bit(found.devices[found.part[u]]);
  const std::optional<Split> within = fewest(pinned);
  return within ? within : fewest(problem);
}

// A cost that is not known is negative.
CostTable Replay::table_of(const std::vector<Driven>& driven) const {
  CostTable out = costs_.between();
  const auto devices = static_cast<uint32_t>(plan_->devices.size());
  out.compute.assign(units_.size() * devices, 0);
  const auto add = [&](size_t unit, uint32_t d, double us) {
    double& sum = out.compute[unit * devices + d];
    sum = sum < 0 || us < 0 ? -1 : sum + us;
  };
  for (size_t u = 0; u < units_.size(); ++u)
    for (const auto* nodes : {&units_[u], &copies_[u]})
      for (uint32_t n : *nodes)
        for (uint32_t d = 0; d < devices; ++d)
          if (!is_host(plan_->devices[d])) add(u, d, costs_.of(n, d).microseconds);
  for (const Driven& node : driven)
    for (uint32_t d = 0; d < devices; ++d)
      if (is_host(plan_->devices[d])) add(unit_of_[node.node], d, node.microseconds.value_or(-1));
  return out;
}

bool Replay::all_known(const SplitProblem& problem, const CostTable& table) const {
  for (uint32_t u = 0; u < problem.units(); ++u)
    for (uint32_t d = 0; d < problem.devices; ++d)
      if ((problem.allow[u] & bit(d)) && table.compute[size_t{u} * problem.devices + d] < 0) return false;
  return true;
}

Replay::Found Replay::measure(const Split& split, const CostTable& table) const {
  Found out;
  out.subgraphs = static_cast<uint32_t>(split.devices.size());
  double us = 0;
  bool known = true;
  for (uint32_t device : split.devices) us += table.launch[device];
  for (uint32_t u = 0; u < problem_.units(); ++u) {
    const uint32_t part = split.part[u], from = split.devices[part];
    const double compute = table.compute[size_t{u} * problem_.devices + from];
    known &= compute >= 0;
    us += compute;
    for (uint32_t t = problem_.first_tensor[u]; t < problem_.first_tensor[u + 1]; ++t) {
      if (problem_.only_order(t)) continue;
      std::set<uint32_t> parts;
      uint64_t sent = bit(from);
      for (uint32_t r = problem_.first_reader[t]; r < problem_.first_reader[t + 1]; ++r) {
        const uint32_t reader = split.part[problem_.readers[r]], to = split.devices[reader];
        if (reader != part && parts.insert(reader).second) out.bytes += problem_.bytes[t];
        const size_t link = size_t{from} * problem_.devices + to;
        if (!(sent & bit(to))) us += table.latency[link] + static_cast<double>(problem_.bytes[t]) * table.per_byte[link];
        sent |= bit(to);
      }
    }
  }
  if (known) out.microseconds = us;
  return out;
}

}  // namespace optima::detail
