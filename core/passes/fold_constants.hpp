// SPDX-License-Identifier: Apache-2.0
// core/passes: nodes that compute the same in every run are computed now.
#pragma once

#include "core/graph/graph.hpp"
#include "core/passes/own_operators.hpp"

namespace optima::passes {

/// Replaces nodes whose inputs are all constants by their results, as the reference computes them; in bodies too. Stays
/// away from random operators, from operators that neither the reference nor `own` computes, from DequantizeLinear (quantized weights stay
/// quantized), and from results over 16 MiB that are larger than the inputs. Linear.
Status fold_constants(Graph& graph, const OwnOperators& own = {});

}  // namespace optima::passes
