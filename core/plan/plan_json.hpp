// SPDX-License-Identifier: Apache-2.0
// core/plan: plans as placement.json / plan.json. Format: docs/placement-format.md.
#pragma once

#include <string>

#include "core/plan/plan.hpp"
#include "core/support/json.hpp"
#include "core/support/status.hpp"

namespace optima {

/// Newest format this code writes and reads.
constexpr int64_t kPlacementFormat = 1;

/// Same plan, same bytes.
Json plan_to_json(const Plan& plan);

/// InvalidInput with the place of the first mistake: missing or mistyped members, unknown devices, numbers out of range, a node
/// in no subgraph or in two, a newer format. Every index of the plan that is returned can be followed; whether it fits a graph
/// is validate()'s question. `place` is the file's name, for messages.
Result<Plan> plan_from_json(const Json& json, const std::string& place);
/// Of a file.
Result<Plan> read_plan(const std::string& path);

}  // namespace optima
