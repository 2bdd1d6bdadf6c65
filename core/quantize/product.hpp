// SPDX-License-Identifier: Apache-2.0
// core/quantize: where output and input channels lie in a product's weights. Private to the room.
#pragma once

#include <optional>
#include <vector>

#include "core/quantize/operators.hpp"

namespace optima::detail {

/// A Conv, ConvTranspose, Gemm or MatMul whose right side is an f32 constant.
struct Product {
  uint32_t node = 0;             ///< index in the main graph
  uint32_t input = OPTIMA_NONE;  ///< the value on the left
  uint32_t weights = OPTIMA_NONE;
  uint32_t bias = OPTIMA_NONE;   ///< constant f32 of one number per output channel, which the product adds itself; else OPTIMA_NONE
  bool takes_bias = false;       ///< may have such a bias: there is none, or it is one
  std::vector<int64_t> dims;     ///< of the weights
  int axis = -1;                 ///< of the weights: one scale per index. -1 = one for all
  int inner_axis = -1;           ///< of the weights: what is summed over, without the kernel's window
  int64_t groups = 1;
  int64_t outputs = 0, inputs = 0;  ///< channels, over all groups
  int input_axis = -1;           ///< the channels' axis of the left value; -1 = not known
  double bias_factor = 1;        ///< of Gemm: alpha, by which the product is multiplied
  double taps = 1;               ///< of ConvTranspose: strides multiplied: one output sees that part of the window
  bool windowed = false;         ///< more than one tap, or groups: inputs meet other weights at other places

  int64_t output_of(int64_t element) const;  ///< output channel, over all groups
  int64_t input_of(int64_t element) const;
  int64_t scale_of(int64_t output) const;    ///< index along `axis`; 0 when there is one scale
};

/// Nothing when the node is no product or its weights are no f32 constant of known form.
std::optional<Product> product_of(const Graph& graph, uint32_t node);

/// Elements behind one index of `axis`, and how many there are along it.
int64_t elements_behind(const std::vector<int64_t>& dims, int axis);

}  // namespace optima::detail
