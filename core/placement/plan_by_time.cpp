// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "core/placement/assemble.hpp"
#include "core/placement/node_costs.hpp"
#include "core/split/cost_within.hpp"
#include "core/support/text.hpp"

namespace optima::detail {
namespace {

std::string effect_text(const MoveEffect& effect) {
  // A move that gains is one that the search had no steps left to try.
  std::string out = cat(effect.slower < 0 ? "faster by " : "slower by ", human_time(std::abs(effect.slower)));
  const int32_t parts = std::abs(effect.more_parts);
  if (parts) out += cat(", ", effect.more_parts > 0 ? "adds " : "saves ", parts, parts == 1 ? " subgraph" : " subgraphs");
  return out;
}

/// What a split by time says of the plan made of it.
class Teller {
 public:
  Teller(const NodeCosts& costs, const CostTable& table, const Choices& choices, const SplitProblem& problem, const CostSplit& split)
      : costs_(costs), table_(table), choices_(choices), problem_(problem), split_(split) {}

  PlanEstimate estimate(const Plan& plan) const {
    PlanEstimate out{split_.time.compute, split_.time.launch, split_.time.transfer, split_.bound, std::vector<DeviceTime>(problem_.devices)};
    for (uint32_t d = 0; d < problem_.devices; ++d)
      if (std::isfinite(split_.one_device[d])) out.devices[d].alone = split_.one_device[d];
    const std::vector<PlanTime> times = times_by_device(problem_, table_, split_.devices, split_.part);
    for (uint32_t d = 0; d < problem_.devices; ++d) {
      out.devices[d].each_launch = table_.launch[d];
      out.devices[d].launch = times[d].launch;
      out.devices[d].transfer = times[d].transfer;
    }
    for (size_t n = 0; n < plan.nodes.size(); ++n)
      out.devices[plan.nodes[n].device].compute += costs_.entries[n * problem_.devices + plan.nodes[n].device].microseconds;
    return out;
  }

  void answer(Capability& capability) const {
    const std::vector<MoveEffect> effects = effects_of_moves(problem_, table_, split_);
    for (size_t n = 0; n < capability.answers.size(); ++n)
      for (uint32_t d = 0; d < problem_.devices; ++d) {
        const NodeTime& cost = costs_.entries[n * problem_.devices + d];
        DeviceAnswer& answer = capability.answers[n][d];
        if (cost.microseconds < 0) continue;
        answer.microseconds = cost.microseconds;  // of a refusal too where it was measured, for what-if
        answer.cost_source = cost.source;
        if (!answer.yes) continue;
        const uint32_t unit = choices_.unit_of[n];
        if (answer.text.empty() && (problem_.allow[unit] >> d & 1) && split_.devices[split_.part[unit]] != d)
          answer.text = effect_text(effects[size_t{unit} * problem_.devices + d]);
      }
  }

 private:
  const NodeCosts& costs_;
  const CostTable& table_;
  const Choices& choices_;
  const SplitProblem& problem_;
  const CostSplit& split_;
};

// Units stay away from devices of which no cost is known.
void leave_out(uint64_t unknown, Choices& choices, PlanQuestion& question, Capability& capability) {
  SplitProblem& problem = question.problem;
  for (PlaceRule& rule : question.rules) rule.limit &= ~unknown;
  for (size_t u = 0; u < choices.units.size(); ++u) {
    problem.allow[u] &= ~unknown;
    if (!problem.avoid.empty()) problem.avoid[u] &= ~unknown;
    for (uint32_t n : choices.units[u]) {
      choices.allow[n] &= ~unknown;
      choices.clone_on[n] &= ~unknown;
      for (size_t d = 0; d < capability.answers[n].size(); ++d)
        if (DeviceAnswer& answer = capability.answers[n][d]; (unknown >> d & 1) && answer.yes && answer.text.empty())
          answer.text = "left out, no cost is known of it";
    }
  }
}

std::vector<double> times_of(const NodeCosts& costs) {
  std::vector<double> out;
  for (const NodeTime& entry : costs.entries) out.push_back(entry.microseconds);
  return out;
}

// What tensors without a size take to move is an estimate.
void note_unknown_sizes(Plan& plan) {
  size_t unknown = 0;
  for (const CutTensor& cut : plan.cuts) unknown += cut.bytes == 0;
  if (unknown)
    plan.notes.push_back(cat(unknown, unknown == 1 ? " tensor that crosses has" : " tensors that cross have",
                             " no size before running: what moving takes is estimated"));
}

}  // namespace

Result<Plan> plan_by_time(const Graph& graph, const PackedGraph& packed, const Uses& uses, const Candidates& candidates, Capability& capability,
                          Choices& choices, PlanQuestion& question, const std::vector<BodyPlan>& bodies, const PlacementRequest& request,
                          LimitedSplit& found) {
  OPTIMA_ASSIGN(const NodeCosts costs, find_costs(graph, packed, candidates, choices, bodies, request));
  leave_out(costs.unknown, choices, question, capability);
  question.between = costs.between;
  const CostTable table = question.costs(times_of(costs), question.between);
  if (!table.well_formed(question.problem)) return internal_error("placement: a cost is no time");
  CostSplitWithin split = split_by_cost_within(question.problem, table, question.limits);
  found = std::move(split.kept);
  std::vector<std::string> notes = costs.notes;
  if (split.fell_back)
    notes.push_back("the fastest plan found cannot be cut within the limits; this is the one of the fewest subgraphs that can");
  if (found.conflict) return conflict_error(graph, candidates, request, choices, *found.conflict);
  Plan plan = assemble(graph, works_at(graph, request), uses, candidates, capability, choices, found.split, false);
  const Teller teller(costs, table, choices, question.problem, split.fastest);
  plan.estimate = teller.estimate(plan);
  plan.notes.insert(plan.notes.end(), notes.begin(), notes.end());
  note_unknown_sizes(plan);
  teller.answer(capability);
  return plan;
}

}  // namespace optima::detail
