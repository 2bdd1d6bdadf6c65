// SPDX-License-Identifier: Apache-2.0
// core/passes: nodes that no output needs go.
#pragma once

#include "core/graph/graph.hpp"
#include "core/passes/own_operators.hpp"

namespace optima::passes {

/// Drops nodes none of whose outputs is read or is an output of its graph, in bodies too, then values, constants and bytes
/// that nobody touches. Inputs of the graph stay. Linear.
Status drop_dead_nodes(Graph& graph, const OwnOperators& own = {});

}  // namespace optima::passes
