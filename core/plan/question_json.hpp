// SPDX-License-Identifier: Apache-2.0
// core/plan: the member "question" of plan.json. Format: docs/placement-format.md.
#pragma once

#include "core/plan/plan.hpp"
#include "core/support/json.hpp"
#include "core/support/status.hpp"

namespace optima::detail {

/// Columns of numbers; those that are 0 throughout are left out.
Json question_to_json(const PlanQuestion& question);

/// Of a plan whose devices, nodes and estimate have been read. InvalidInput with the place of the first mistake; what is returned fits the plan.
Result<PlanQuestion> question_from_json(const JsonReader& at, const Plan& plan);

}  // namespace optima::detail
