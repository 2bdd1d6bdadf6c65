// SPDX-License-Identifier: Apache-2.0
// core/plan: checks a finished plan against what devices take at once, sharing no code with what made it.
#pragma once

#include "core/plan/terms.hpp"

namespace optima {

/// Part of validate(): no subgraph over its plugin's or its device's limits, none beginning or ending with an operator that the
/// plugin's note forbids, not too many of them. The plan's indices have been checked. Internal with the first thing wrong.
Status validate_limits(const Plan& plan, const Graph& graph, const PlanTerms& terms);

/// Part of validate(), of the whole model: not too many subgraphs in all and on any plugin's devices, bodies included. Internal.
Status validate_totals(const Plan& plan, const PlanTerms& terms);

/// True when a subgraph on the device may be closed before it has to be, so that two of them may follow each other.
bool closes_subgraphs(const PlanDevice& device, const PlanTerms& terms);

}  // namespace optima
