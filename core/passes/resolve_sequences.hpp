// SPDX-License-Identifier: Apache-2.0
// core/passes: sequences and optionals become the tensors in them.
#pragma once

#include "core/graph/graph.hpp"
#include "core/passes/own_operators.hpp"

namespace optima::passes {

/// Restates the operators on sequences and optionals, in bodies too, as operators on the tensors in them, wherever the number of tensors follows from
/// the graph, or a sequence is the slices of one tensor. SequenceMap becomes its body for each element, and a Loop over sequences of at most 64
/// trips its body for each trip; one that only appends gives the stacked tensors, and one that repeats slices a Gather (repeats.hpp). Outputs of the model that are sequences become
/// outputs "y[0]", "y[1]" and so on, one of slices the tensor of all of them under its own name. Shapes are folded again after every step. What stays is said
/// in one warning per node. A graph without such values is left alone, in linear time.
Status resolve_sequences(Graph& graph, const OwnOperators& own = {});

}  // namespace optima::passes
