// SPDX-License-Identifier: Apache-2.0
// core/quantize: large channels of activations become smaller, and the weights that read them larger. Private to the room.
#pragma once

#include "core/quantize/encodings.hpp"
#include "core/quantize/seen.hpp"
#include "core/quantize/sites.hpp"

namespace optima::detail {

/// Smooths the inputs of a transformer's quantized MatMul and Gemm where that makes the product's error smaller by the statistics: channel c is
/// divided by s = max|x|^a / max|w|^(1 - a), a searched. All products that read one value share s. The division goes into the scale and
/// bias of the LayerNormalization that makes the value where nobody else reads it, else into a Mul before the products; the divided value is named
/// "VALUE/smooth". What `given` smoothed is divided by its numbers, and where it only has encodings of the value or of the products' weights, nothing
/// is: they are of what is not divided. `seen` learns what the divided values are like. Uses and sites are out of date afterwards.
/// Gives what was smoothed, as Encodings::smoothed. InvalidInput for given numbers that are not one a channel, or of a value that no product reads.
/// After Xiao et al., "SmoothQuant" (2022), with the strength by value.
Result<std::map<std::string, std::vector<float>>> smooth_products(Graph& graph, const Uses& uses, const Sites& sites, Seen& seen, const Encodings& given);

}  // namespace optima::detail
