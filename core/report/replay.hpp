// SPDX-License-Identifier: Apache-2.0
// core/report: the question that a plan keeps, asked again with another answer of a device. Private to the room.
#pragma once

#include <optional>
#include <vector>

#include "core/plan/plan.hpp"
#include "core/report/plan_costs.hpp"
#include "core/support/status.hpp"

namespace optima::detail {

/// Wishes, limits and the objective are the question's; only who takes which node is changed.
class Replay {
 public:
  /// InvalidInput when the plan does not keep its question (it was written before that was done) or that does not fit it. The plan must
  /// outlive this.
  static Result<Replay> of(const Plan& plan, const CostSources& given = {});

  /// What the plan would be.
  struct Found {
    uint32_t subgraphs = 0;
    uint64_t bytes = 0;                   ///< crossing
    std::optional<double> microseconds;   ///< of one run; none: a cost is not known
    std::vector<uint32_t> driven;         ///< nodes that the host drives then
  };
  /// A node that the host drives, with the time of its bodies if that is known.
  struct Driven {
    uint32_t node = 0;
    std::optional<double> microseconds;
  };
  /// The plan as if `device` took every node in `nodes` (indices of Plan::nodes). The splitter runs once. Empty when no plan within the
  /// limits was found.
  std::optional<Found> if_taken(const std::vector<uint32_t>& nodes, uint32_t device, const std::vector<Driven>& driven = {}) const;
  /// The plan as it is.
  std::optional<Found> as_is(const std::vector<Driven>& driven = {}) const { return ask(question_->problem, driven); }
  /// Subgraphs when the node is pinned to the device; of plans for the fewest subgraphs.
  std::optional<uint32_t> subgraphs_if_pinned(uint32_t node, uint32_t device) const;
  /// The same without a pin.
  std::optional<uint32_t> subgraphs() const { return subgraphs_of(question_->problem); }

  const PlanQuestion& question() const { return *question_; }
  const PlanCosts& costs() const { return costs_; }

 private:
  Replay(const Plan& plan, const CostSources& given) : plan_(&plan), question_(&*plan.question), costs_(plan, given) {}

  std::optional<Found> ask(const SplitProblem& problem, const std::vector<Driven>& driven) const;
  std::optional<uint32_t> subgraphs_of(const SplitProblem& problem) const;
  std::optional<Split> fewest(const SplitProblem& problem) const;
  std::optional<Split> fastest(const SplitProblem& problem, const CostTable& table) const;
  CostTable table_of(const std::vector<Driven>& driven) const;
  Found measure(const Split& split, const CostTable& table) const;

  const Plan* plan_;
  const PlanQuestion* question_;
  PlanCosts costs_;
};

}  // namespace optima::detail
