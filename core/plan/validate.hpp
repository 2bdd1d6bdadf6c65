// SPDX-License-Identifier: Apache-2.0
// core/plan: checks a finished plan against the graph, sharing no code with what made it.
#pragma once

#include "core/plan/terms.hpp"

namespace optima {

/// Ok when the plan may be run: each node at home in exactly one subgraph and on its device, and cloned
/// only where a device takes it and somebody reads it; quantized units in one subgraph; stateful nodes
/// in the model's order; subgraphs in an order in which every value
/// is there before it is read; the device said yes and every wish is obeyed; inputs and outputs of every subgraph complete, in
/// extract()'s order, none unused; no empty subgraph, no neighbours on one device unless its limits
/// close subgraphs; limits kept; cut tensors, bytes and bound right; the question that it keeps is its own (validate_question()). Else
/// Internal with the first thing wrong. Nodes that the host drives have a plan for each body, and those are
/// checked the same way. O(nodes + readers). Runs on every plan, in release builds too.
Status validate(const Plan& plan, const Graph& graph, const PlanTerms& terms);

}  // namespace optima
