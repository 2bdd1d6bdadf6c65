// SPDX-License-Identifier: Apache-2.0
// core/quantize: what rounding of weights moves the mean of outputs by. Private to the room.
#pragma once

#include <vector>

#include "core/quantize/product.hpp"

namespace optima::detail {

/// (weights - rounded) x mean(x) by output channel. `means` by input channel. Borders, where a window sees padding, count as the middle.
std::vector<double> lost_means(const Product& product, const std::vector<float>& weights, const std::vector<float>& rounded, const std::vector<double>& means);

/// The constant that an Add, the product's only reader, adds to each output channel; OPTIMA_NONE when there is none that nobody else reads.
uint32_t bias_behind(const Graph& graph, const Uses& uses, const Product& product);

}  // namespace optima::detail
