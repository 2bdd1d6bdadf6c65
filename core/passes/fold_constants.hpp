// SPDX-License-Identifier: Apache-2.0
// core/passes: nodes that compute the same in every run are computed now.
#pragma once

#include "core/graph/graph.hpp"

namespace optima::passes {

/// Replaces nodes whose inputs are all constants by their results, as the reference computes them; in bodies too. Stays
/// away from random operators, from operators without a reference, from DequantizeLinear (quantized weights stay
/// quantized), and from results over 16 MiB that are larger than the inputs. Linear.
Status fold_constants(Graph& graph);

}  // namespace optima::passes
