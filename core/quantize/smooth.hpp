// SPDX-License-Identifier: Apache-2.0
// core/quantize: large channels of activations become smaller, and the weights that read them larger. Private to the room.
#pragma once

#include "core/quantize/seen.hpp"
#include "core/quantize/sites.hpp"

namespace optima::detail {

/// Smooths the inputs of a transformer's quantized MatMul and Gemm where that makes the product's error smaller by the statistics: channel c is
/// divided by s = max|x|^a / max|w|^(1 - a), a searched. All products that read one value share s. The division goes into the scale and
/// bias of the LayerNormalization that makes the value where nobody else reads it, else into a Mul, "VALUE/smooth", before the products. `seen`
/// learns what the divided values are like. Uses and sites are out of date afterwards. Number of values smoothed.
/// After Xiao et al., "SmoothQuant" (2022), with the strength by value.
size_t smooth_products(Graph& graph, const Uses& uses, const Sites& sites, Seen& seen);

}  // namespace optima::detail
