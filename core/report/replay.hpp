// SPDX-License-Identifier: Apache-2.0
// core/report: a plan turned back into the splitter's question, to ask what another answer would have changed. Private to the room.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/plan/plan.hpp"
#include "core/report/plan_costs.hpp"
#include "core/split/limits.hpp"
#include "core/split/split.hpp"
#include "core/support/status.hpp"

namespace optima::detail {

/// The question that a plan answers, without model or plugins: units, who may take them, the tensors between them, limits and, where
/// they are known, costs. Wishes and the objective stay as they were; a node whose device does not follow from its wish and answers as
/// the plan tells them is held where it is.
class Replay {
 public:
  /// InvalidInput when the plan lists no tensors (it was written before they were kept), has more devices than the splitter knows,
  /// or its units wait for each other. The plan must outlive this.
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
  std::optional<Found> as_is(const std::vector<Driven>& driven = {}) const { return ask(problem_, driven); }
  /// Subgraphs when the node is pinned to the device; of plans for the fewest subgraphs.
  std::optional<uint32_t> subgraphs_if_pinned(uint32_t node, uint32_t device) const;
  /// The same without a pin.
  std::optional<uint32_t> subgraphs() const { return subgraphs_of(problem_); }

  /// Devices that are asked for the node: in a quantized unit those of the wish that speaks for it. Empty: none are.
  const std::vector<uint32_t>& wanted_of(uint32_t node) const;

  const PlanCosts& costs() const { return costs_; }

 private:
  Replay(const Plan& plan, const CostSources& given) : plan_(&plan), costs_(plan, given) {}
  Status form_units();
  template <class F>
  void each_waiting(const PlanTensor& tensor, uint32_t to, F&& f) const;
  void list_tensors();
  uint64_t allow_of(const PlacedNode& node, uint64_t also) const;
  uint64_t allow_of_quantized(const std::vector<uint32_t>& nodes, uint64_t all) const;
  uint64_t allow_of_unit(uint32_t unit, const std::vector<uint64_t>& also) const;

  void take_limits();
  void limit_devices();
  void limit_ends();
  void list_ends();

  std::optional<Found> ask(const SplitProblem& problem, const std::vector<Driven>& driven) const;
  std::optional<uint32_t> subgraphs_of(const SplitProblem& problem) const;
  std::optional<Split> fewest(const SplitProblem& problem) const;
  std::optional<Split> fastest(const SplitProblem& problem, const CostTable& table) const;
  CostTable table_of(const std::vector<Driven>& driven) const;
  bool all_known(const SplitProblem& problem, const CostTable& table) const;
  Found measure(const Split& split, const CostTable& table) const;

  const Plan* plan_;
  PlanCosts costs_;
  std::vector<std::vector<uint32_t>> units_;   // nodes, in a topological order of units
  std::vector<std::vector<uint32_t>> copies_;  // by unit: nodes of others that it runs too
  std::vector<uint32_t> unit_of_, first_;      // by node: its unit, and the first node of that
  std::vector<const PlanTensor*> tensors_;     // by tensor of the problem; null: it only keeps an order
  SplitProblem problem_;
  SplitLimits limits_;
};

}  // namespace optima::detail
