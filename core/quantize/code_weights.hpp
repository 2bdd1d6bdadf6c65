// SPDX-License-Identifier: Apache-2.0
// core/quantize: weights and biases of all products become codes. Private to the room.
#pragma once

#include "core/quantize/insert.hpp"
#include "core/quantize/seen.hpp"
#include "core/support/status.hpp"

namespace optima::detail {

/// Rounds one product's weights, corrects its bias by what was seen, and codes the bias where its input is codes. Adds to `coding`, whose
/// activations are known; the bias that an Add behind a MatMul holds is corrected in `graph`. InvalidInput for a given encoding that does not
/// fit and for weights that are not finite.
Status code_product(Graph& graph, const Uses& uses, const Sites& sites, const Product& product, const Seen& seen, const QuantizeOptions& options, Coding& coding);

}  // namespace optima::detail
