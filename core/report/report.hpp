// SPDX-License-Identifier: Apache-2.0
// core/report: plans as text for people. Reads plans only; asks nobody.
#pragma once

#include <string>
#include <string_view>

#include "core/plan/plan.hpp"
#include "core/support/status.hpp"

namespace optima {

/// What `compile` ends with: subgraphs and the proven minimum, nodes per device, bytes crossing, every node that is not on the
/// device it was asked for, notes. Lines, the last one ended.
std::string placement_summary(const Plan& plan);

/// The summary, then each subgraph with what it reads and writes, and every node with its reason.
std::string explain_plan(const Plan& plan);

/// One node on one screen: where it runs and why, what each device's plugin said and what moving it there would do to the number
/// of subgraphs, its neighbours with the tensors between (those that cross say so), what its subgraph reads and writes.
/// InvalidInput when the plan has no such node (nearest shown).
Result<std::string> explain_node(const Plan& plan, std::string_view name);

}  // namespace optima
