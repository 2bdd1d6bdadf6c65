// SPDX-License-Identifier: Apache-2.0
// core/report: a plan turned back into the splitter's question, to ask what another answer would have changed. Private to the room.
#pragma once

#include <vector>

#include "core/placement/plan.hpp"
#include "core/placement/split.hpp"
#include "core/support/status.hpp"

namespace optima::detail {

/// The question that a plan answers, without model or plugins: units, who may take them, and the tensors between them. Wishes stay
/// as they were; a node whose device does not follow from its wish and answers as the plan tells them is held where it is.
class Replay {
 public:
  /// InvalidInput when the plan lists no tensors (it was written before they were kept), has more devices than the splitter knows,
  /// or its units wait for each other. The plan must outlive this.
  static Result<Replay> of(const Plan& plan);

  /// The split as if `device` took every node in `nodes` (indices of Plan::nodes). One pass of the splitter.
  Split if_taken(const std::vector<uint32_t>& nodes, uint32_t device) const;
  /// The split as if the node were pinned to the device.
  Split if_pinned(uint32_t node, uint32_t device) const;
  /// The split as it is.
  Split as_is() const { return split(problem_); }

 private:
  explicit Replay(const Plan& plan) : plan_(&plan) {}
  Status form_units();
  template <class F>
  void each_waiting(const PlanTensor& tensor, uint32_t to, F&& f) const;
  void list_tensors();
  uint64_t allow_of(const PlacedNode& node, uint64_t also) const;
  uint64_t allow_of_unit(uint32_t unit, const std::vector<uint64_t>& also) const;

  const Plan* plan_;
  std::vector<std::vector<uint32_t>> units_;  // nodes, in a topological order of units
  std::vector<std::vector<uint32_t>> copies_; // by unit: nodes of others that it runs too
  std::vector<uint32_t> unit_of_, first_;     // by node: its unit, and the first node of that
  SplitProblem problem_;
};

}  // namespace optima::detail
