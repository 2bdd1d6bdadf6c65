// SPDX-License-Identifier: Apache-2.0
// core/report: what differs between two plans. Reads plans only.
#pragma once

#include <string>
#include <vector>

#include "core/plan/plan.hpp"
#include "core/support/json.hpp"

namespace optima {

struct BodyDiff;

struct PlanDiff {
  /// A node of both plans that runs on another device, or in a subgraph of another number.
  struct Change {
    uint32_t before = 0, after = 0;  ///< indices of the plans' nodes
    bool moved = false;              ///< to another device; false = only its subgraph has another number
  };
  bool same_model = true;
  std::vector<Change> changes;                  ///< in the order of the first plan
  std::vector<uint32_t> only_before, only_after;  ///< nodes that the other plan does not have
  uint32_t moved = 0;                           ///< changes of device
  std::vector<BodyDiff> bodies;                 ///< that both plans have plans for, of the plan compared alone
  std::vector<uint32_t> bodies_before, bodies_after;  ///< indices of the plans' bodies that the other has no plan for

  /// Same model, same nodes, same devices, same subgraphs, in all bodies.
  bool equal() const;
  /// Nodes moved, with another subgraph number, and in one plan only, those of bodies included.
  struct Counts {
    size_t moved = 0, renumbered = 0, lonely = 0;
  };
  Counts counts() const;
};

/// Of a body that the host drives in both plans.
struct BodyDiff {
  uint32_t before = 0, after = 0;  ///< indices of the plans' bodies
  PlanDiff diff;
};

/// Nodes are matched by name, devices by full name, bodies by their node and attribute.
PlanDiff diff(const Plan& before, const Plan& after);

/// What changed in numbers and estimated time, then every node that moved with its reason in both plans; then the same of each body
/// that differs; lines. Nodes that only have another subgraph number are counted.
std::string diff_text(const Plan& before, const Plan& after, const PlanDiff& diff);
Json diff_json(const Plan& before, const Plan& after, const PlanDiff& diff);

}  // namespace optima
