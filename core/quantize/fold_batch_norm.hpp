// SPDX-License-Identifier: Apache-2.0
// core/quantize: BatchNormalizations go into the weights before them: their ranges are then those that the device sees. Private to the room.
#pragma once

#include "core/graph/graph.hpp"

namespace optima::detail {

/// Folds every inference BatchNormalization of the main graph that alone reads a Conv, ConvTranspose or Gemm with constant weights, computed
/// in f32: w * k and (b - mean) * k + beta with k = gamma / sqrt(variance + epsilon). The product keeps its name and id and writes the
/// BatchNormalization's output; weights keep their name where nobody else reads them. Noted in Graph::folded as "batch normalization".
void fold_batch_norms(Graph& graph);

}  // namespace optima::detail
