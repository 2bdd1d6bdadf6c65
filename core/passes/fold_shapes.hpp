// SPDX-License-Identifier: Apache-2.0
// core/passes: arithmetic on shapes is done now, as far as the shapes are known.
#pragma once

#include "core/graph/graph.hpp"
#include "core/passes/own_operators.hpp"

namespace optima::passes {

/// Walks the main graph and its bodies, inferring types from what is folded on the way. A node whose integers follow from known dims
/// (Shape, and Gather, Concat, Slice, ... on it, and comparisons of them) becomes a constant, also where other dims of the same shape are
/// unknown, and where bounds decide (partly_known.hpp);
/// what then has only constant inputs is computed as in fold_constants. Values that depended on it get better types. An If whose
/// condition is known then is the branch that it takes (choose_branches), and the walk is made again. Linear in the graph for each walk;
/// there is one for each level of Ifs in Ifs that are chosen, and one more. Inputs that turn out not to fit are left for the run.
Status fold_shapes(Graph& graph, const OwnOperators& own = {});

}  // namespace optima::passes
