// SPDX-License-Identifier: Apache-2.0
// core/quantize: products in 16-bit floats, in plain ONNX: a Cast before and behind each, and constants of the type.
#pragma once

#include <vector>

#include "core/quantize/quantize.hpp"

namespace optima {

struct LowPrecision {
  Graph graph;
  std::vector<LeftFloat> left;  ///< nodes that were wanted in f16 or bf16 and are products that stay f32, with the reason
};

/// Conv, ConvTranspose, Gemm and MatMul of f32 with constant weights that `options` want in F16 or BF16 read and give that type; all other nodes stay
/// as they are. Value x is read as x/bf16 (x/f16), rounded once for all its readers; a constant is rounded here; the result y is made as y/bf16 and
/// cast to y, so that names, shapes and types of what others read stay. Names and ids of nodes stay, new nodes get new ones. Nodes inside bodies stay f32.
LowPrecision to_low_precision(Graph graph, const QuantizeOptions& options);

}  // namespace optima
