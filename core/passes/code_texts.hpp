// SPDX-License-Identifier: Apache-2.0
// core/passes: string tensors become tensors of codes.
#pragma once

#include "core/graph/graph.hpp"
#include "core/passes/own_operators.hpp"

namespace optima::passes {

/// String values whose texts are all known, or only asked for among known ones, become int64 codes, in bodies too: operators that move elements,
/// compare them or count n-grams of them do the same to codes. Values that meet have codes of one table, and Graph::texts has it for those that are
/// inputs or outputs of the model. In an input any other text is one more code. What reads or makes texts as texts keeps its strings, and so does
/// what meets them, said in one warning. A graph without strings is left alone, in linear time.
Status code_texts(Graph& graph, const OwnOperators& own = {});

}  // namespace optima::passes
