// SPDX-License-Identifier: Apache-2.0
// core/passes: nodes that only hand a value on go.
#pragma once

#include "core/graph/graph.hpp"
#include "core/passes/own_operators.hpp"

namespace optima::passes {

/// Drops Identity nodes, and Dropout nodes that do not train and whose mask nobody reads, in bodies too: who reads what one gives reads what it
/// gets instead, and where it gives an output of its graph, the node that makes the value writes the output. Names of inputs and outputs stay, so
/// the node stays that leads from an input, a constant, a captured value or another output to an output; and one whose both ends have types that
/// contradict each other. Linear.
Status drop_identities(Graph& graph, const OwnOperators& own = {});

}  // namespace optima::passes
