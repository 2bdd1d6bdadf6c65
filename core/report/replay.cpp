// SPDX-License-Identifier: Apache-2.0
#include "core/report/replay.hpp"

#include <set>

#include "core/split/cost_within.hpp"
#include "core/support/text.hpp"

namespace optima::detail {
namespace {

uint64_t bit(uint32_t device) { return uint64_t{1} << device; }

std::vector<uint64_t> yes_of(const Plan& plan) {
  std::vector<uint64_t> out(plan.nodes.size(), 0);
  for (size_t n = 0; n < plan.nodes.size(); ++n)
    for (uint32_t d = 0; d < plan.nodes[n].answers.size(); ++d)
      if (plan.nodes[n].answers[d].yes) out[n] |= bit(d);
  return out;
}

bool all_known(const SplitProblem& problem, const CostTable& table) {
  for (uint32_t u = 0; u < problem.units(); ++u)
    for (uint32_t d = 0; d < problem.devices; ++d)
      if ((problem.allow[u] & bit(d)) && table.compute[size_t{u} * problem.devices + d] < 0) return false;
  return true;
}

}  // namespace

Result<Replay> Replay::of(const Plan& plan, const CostSources& given) {
  const auto error = [&](std::string_view what) { return invalid_input(cat("the plan of ", quote(plan.model_name), " ", what)); };
  if (!plan.question) return error("does not keep its question, it was written by an older version; write it again with 'plan -o'");
  const Status fits = plan.question->fits(plan);
  if (!fits.ok()) return error(cat("does not fit its question: ", fits.message()));
  return Replay(plan, given);
}

std::optional<Replay::Found> Replay::if_taken(const std::vector<uint32_t>& nodes, uint32_t device, const std::vector<Driven>& driven) const {
  std::vector<uint64_t> yes = yes_of(*plan_);
  for (uint32_t n : nodes) yes[n] |= bit(device);
  SplitProblem changed = question_->problem;
  changed.allow = question_->allow_if(yes);
  for (uint32_t u = 0; u < changed.units(); ++u)  // nodes of one unit that wishes then tell apart stay where they may be now
    if (changed.allow[u] == 0) changed.allow[u] = question_->problem.allow[u];
  return ask(changed, driven);
}

std::optional<uint32_t> Replay::subgraphs_if_pinned(uint32_t node, uint32_t device) const {
  SplitProblem changed = question_->problem;
  const uint32_t unit = question_->unit_of[node];
  changed.allow[unit] = bit(device);
  changed.avoid[unit] &= bit(device);
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
    if (is_host(plan_->devices[found->devices[found->part[question_->unit_of[d.node]]]])) out.driven.push_back(d.node);
  return out;
}

std::optional<Split> Replay::fewest(const SplitProblem& problem) const {
  if (!question_->limits.any()) return split(problem);
  LimitedSplit found = split_within(problem, question_->limits);
  if (found.conflict) return std::nullopt;
  return std::move(found.split);
}

std::optional<Split> Replay::fastest(const SplitProblem& problem, const CostTable& table) const {
  CostSplitWithin found = split_by_cost_within(problem, table, question_->limits);
  if (found.kept.conflict) return std::nullopt;
  return std::move(found.kept.split);
}

// A cost that is not known is negative.
CostTable Replay::table_of(const std::vector<Driven>& driven) const {
  const auto devices = static_cast<uint32_t>(plan_->devices.size());
  std::vector<double> times(plan_->nodes.size() * devices, -1);
  for (uint32_t n = 0; n < plan_->nodes.size(); ++n)
    for (uint32_t d = 0; d < devices; ++d) times[size_t{n} * devices + d] = costs_.of(n, d).microseconds;
  for (const Driven& node : driven)
    for (uint32_t d = 0; d < devices; ++d)
      if (is_host(plan_->devices[d])) times[size_t{node.node} * devices + d] = node.microseconds.value_or(-1);
  return question_->costs(times, costs_.between());
}

Replay::Found Replay::measure(const Split& split, const CostTable& table) const {
  const SplitProblem& problem = question_->problem;
  std::set<uint32_t> open;  // values whose size the question only assumes
  for (const PlanTensor& tensor : plan_->tensors)
    if (tensor.bytes == 0) open.insert(tensor.value);
  Found out;
  out.subgraphs = static_cast<uint32_t>(split.devices.size());
  bool known = true;
  for (uint32_t u = 0; u < problem.units(); ++u) {
    known &= table.compute[size_t{u} * problem.devices + split.devices[split.part[u]]] >= 0;
    for (uint32_t t = problem.first_tensor[u]; t < problem.first_tensor[u + 1]; ++t) {
      std::set<uint32_t> parts;
      for (uint32_t r = problem.first_reader[t]; r < problem.first_reader[t + 1]; ++r) parts.insert(split.part[problem.readers[r]]);
      parts.erase(split.part[u]);
      if (!problem.only_order(t) && !open.count(problem.values[t])) out.bytes += problem.bytes[t] * parts.size();
    }
  }
  if (!known) return out;
  out.microseconds = 0;
  for (const PlanTime& time : times_by_device(problem, table, split.devices, split.part)) *out.microseconds += time.total();
  return out;
}

}  // namespace optima::detail
