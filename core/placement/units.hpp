// SPDX-License-Identifier: Apache-2.0
// core/placement: from answers and wishes to the splitter's units. Private to the room.
#pragma once

#include <algorithm>
#include <map>
#include <vector>

#include "core/placement/capability.hpp"
#include "core/plan/question.hpp"

namespace optima::detail {

/// What decides where a quantized unit goes that moves as one.
struct QuantizedRule {
  uint32_t op = 0;                   ///< the operator it is called after
  PlaceRule rule;
  std::vector<uint32_t> nodes;       ///< that it runs, copies among them; ascending
  std::vector<uint32_t> home;        ///< those that are at home in it
};

/// Which devices each node may go to, and which nodes move together.
struct Choices {
  std::vector<uint64_t> allow;             ///< by main graph node
  std::vector<uint64_t> clone_on;          ///< by node: devices that take it and that its wish names, for clones of it
  std::vector<const Wish*> wish;           ///< by node: what decides, null = nothing
  std::vector<PlaceRule> rule;             ///< by node: what its wish leaves of the devices that take it, where it is judged alone
  std::vector<QuantizedRule> quantized_rules;  ///< of units that move as one: what is left of them
  std::vector<std::vector<uint32_t>> units;  ///< nodes, ascending; units in a topological order
  std::vector<uint32_t> unit_of;           ///< by node
  std::map<uint32_t, std::vector<uint32_t>> copies;  ///< by node: other units that run it too, for themselves; ascending
  std::vector<uint32_t> quantized;         ///< by node: the operator whose quantized unit it is in, or OPTIMA_NONE
  std::vector<uint32_t> stateful;          ///< nodes that run in this order whatever tensors say
  std::vector<std::string> notes;          ///< units that do not move as one
};

/// Calls f(unit, next unit) for each pair of units that stateful nodes hold in order.
template <class F>
void each_ordered_pair(const Choices& choices, F&& f) {
  for (size_t i = 1; i < choices.stateful.size(); ++i) {
    const uint32_t before = choices.unit_of[choices.stateful[i - 1]], after = choices.unit_of[choices.stateful[i]];
    if (before != after) f(before, after);
  }
}

/// Calls f(unit) for each unit that waits for value v of node n: those of its readers and of the readers' copies, but not the
/// node's own and not those that run a copy of it. May name a unit more than once.
template <class F>
void each_reading_unit(const Uses& uses, const Choices& choices, uint32_t n, uint32_t v, F&& f) {
  const auto held = choices.copies.find(n);
  const auto tell = [&](uint32_t unit) {
    if (unit == choices.unit_of[n]) return;
    if (held == choices.copies.end() || std::find(held->second.begin(), held->second.end(), unit) == held->second.end()) f(unit);
  };
  for (uint32_t reader : uses.consumers[v]) {
    tell(choices.unit_of[reader]);
    if (choices.copies.empty()) continue;
    if (const auto copied = choices.copies.find(reader); copied != choices.copies.end())
      for (uint32_t unit : copied->second) tell(unit);
  }
}

/// Settles wishes, groups and quantized units; turns the yes of a group that cannot move as one into a no. Placement errors: a pin
/// refused, a node that nobody takes, required device not met, wishes for the nodes of one unit that exclude each other.
Result<Choices> settle(const Graph& graph, const Uses& uses, const Candidates& candidates, const PlacementRequest& request, Capability& capability);

/// What the splitter is asked; limits and costs are still to come. `sized`: the graph, or as it is at the sizes that matter most.
PlanQuestion question_of(const Graph& graph, const Graph& sized, const Uses& uses, const Candidates& candidates, const Capability& capability,
                         const Choices& choices);

/// "'conv_1' (Conv, f32[1,3] f32[8,3] -> f32[1,8])" for messages.
std::string node_text(const Graph& graph, const image::Node& node);

}  // namespace optima::detail
