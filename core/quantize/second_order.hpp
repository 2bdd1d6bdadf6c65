// SPDX-License-Identifier: Apache-2.0
// core/quantize: second-order rounding: what one weight loses by rounding, those that follow make up for. Private to the room.
#pragma once

#include <vector>

#include "core/quantize/weights.hpp"

namespace optima::detail {

/// True for a plain matrix: no window, no groups, two-dimensional but for dims of 1.
bool may_round_second_order(const Product& product);

/// Rounds the weights so that the mean square of (weights - codes) x is small over the inputs behind `gram` (inputs x inputs, mean of x xT): the
/// error of each input's weight is spread over those behind it by the inverse of gram + 1 % of its mean diagonal. Scales of blocks are chosen
/// when their block is reached, others are the form's. After Frantar et al., "GPTQ" (2022). inputs^3 / 3 + outputs x inputs^2 / 2 multiply-adds.
WeightCodes round_second_order(const Product& product, const std::vector<float>& weights, Encoding encoding, std::vector<double> gram);

}  // namespace optima::detail
