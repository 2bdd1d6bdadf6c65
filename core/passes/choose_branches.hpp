// SPDX-License-Identifier: Apache-2.0
// core/passes: an If whose condition is known is the branch that it takes.
#pragma once

#include "core/graph/graph.hpp"

namespace optima::passes {

/// Puts the nodes of the branch that is taken in the place of every If whose condition is a constant, in bodies too, and notes the If and
/// the nodes of the other branch in Graph::folded. Nodes keep their names and ids; values get new names where theirs are taken. An If
/// that hands a value from outside straight to an output of the model stays: that output would have no node. True when any If went.
/// Values, constants and bodies that nobody holds any more stay: tidy() afterwards. Linear.
bool choose_branches(Graph& graph);

}  // namespace optima::passes
