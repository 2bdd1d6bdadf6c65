// SPDX-License-Identifier: Apache-2.0
// core/passes: what a Loop carries from trip to trip and never changes.
#pragma once

#include "core/graph/graph.hpp"
#include "core/passes/own_operators.hpp"

namespace optima::passes {

/// Tensors that a Loop's body hands on as they came are no longer carried: the body captures what the Loop began with, of which it then knows all that is known
/// outside, be it that it is a constant, and behind the Loop it is that, too. Exporters carry weights so (loop-invariant code motion, A. Aho et al.,
/// "Compilers: Principles, Techniques, and Tools", 2nd edition, 2006, section 9.5). Identity nodes stand in for the old names; drop_identities takes them.
Status free_unchanged(Graph& graph, const OwnOperators& own = {});

}  // namespace optima::passes
