// SPDX-License-Identifier: Apache-2.0
// core/plan: the question that a plan answers, as the splitter was asked, so that it can be asked again without model or plugins.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <vector>

#include "core/split/cost_split.hpp"
#include "core/split/limits.hpp"
#include "core/split/split.hpp"
#include "core/support/status.hpp"

namespace optima {

struct Plan;

/// What decides where nodes go, once it is known which devices take them.
struct PlaceRule {
  uint64_t limit = 0;              ///< devices that may have them: bit d = device d of the plan
  std::vector<uint32_t> first_of;  ///< of those that take them the first of this list; empty = any
  uint64_t otherwise = 0;          ///< where none of `limit` takes them: the host, for a node that it drives

  /// Devices that are left when those of `yes` take the nodes.
  uint64_t leaves(uint64_t yes) const;
  friend auto operator<=>(const PlaceRule&, const PlaceRule&) = default;
};

/// Nodes that one rule judges together: a device takes them when it takes each.
struct JudgedTogether {
  uint32_t unit = 0;            ///< whose devices this limits
  uint32_t rule = 0;            ///< index of PlanQuestion::rules
  std::vector<uint32_t> nodes;  ///< ascending; copies of other units' nodes among them
};

struct PlanQuestion {
  /// In place of a node's rule: JudgedTogether decides.
  static constexpr uint32_t kTogether = UINT32_MAX;

  std::vector<uint32_t> unit_of;                     ///< by node (index of Plan::nodes): the unit that it is at home in
  std::map<uint32_t, std::vector<uint32_t>> copies;  ///< by node: other units that run it too, for themselves; ascending
  std::vector<PlaceRule> rules;                      ///< distinct
  std::vector<uint32_t> rule_of;                     ///< by node: index of `rules`, or kTogether
  std::vector<JudgedTogether> together;              ///< by unit
  SplitProblem problem;                              ///< its devices are those of the plan
  SplitLimits limits;                                ///< this graph's share of those on the whole model; empty when nothing is limited
  CostTable between;                                 ///< without `compute`, which nodes' answers tell; empty unless the objective was latency

  /// SplitProblem::allow, made of the rules, when the devices yes[n] take node n. 0 where nothing is left of a unit.
  std::vector<uint64_t> allow_if(const std::vector<uint64_t>& yes) const;
  /// Whether a yes of the device to the node could matter: every rule that judges the node in its own unit lets the device have it.
  bool may_have(uint32_t node, uint32_t device) const;
  /// Whether a device that takes the node must have it, so that the plan of now is none any more.
  bool must_have(uint32_t node) const;

  /// The splitter's table: what starting and moving costs, as in `moving`, and the compute of every unit, copies included: the sum of
  /// times[node * devices + device], microseconds. A negative time is not known, which makes the sum negative; a copy whose time is not
  /// known counts as nothing.
  CostTable costs(const std::vector<double>& times, const CostTable& moving) const;

  /// InvalidInput with the first thing that does not fit the plan's devices and nodes, or itself: then nothing here may be followed.
  Status fits(const Plan& plan) const;
};

}  // namespace optima
