// SPDX-License-Identifier: Apache-2.0
// core/quantize: what single operators are to quantization. Private to the room.
#pragma once

#include <cstdint>
#include <vector>

#include "core/graph/attributes.hpp"

namespace optima::detail {

/// What a node does with codes.
enum class Kind {
  None,         ///< computed in float
  Product,      ///< Conv, ConvTranspose, Gemm, MatMul
  Elementwise,  ///< Add, Mul
  Concat,
  Average,      ///< AveragePool, GlobalAveragePool, ReduceMean over the picture: a range of its own
  Mover,        ///< its output's numbers are among its input's, or between them: one encoding for both
  Activation,   ///< a function of one number; Div by a constant is one
};
Kind kind_of(const Graph& graph, const image::Node& node);

/// Positions of the inputs that are data, constants included: both sides of a product or a sum, all of a Concat, all floats of Kind::None, else the first.
std::vector<size_t> data_inputs(const Graph& graph, const image::Node& node);

/// True for a model with attention or normalization of layers: its sums carry outliers, so only inputs of weighted products are quantized.
bool is_transformer(const Graph& graph, const Uses& uses);

double float_attr(const image::Node& node, const char* name, double otherwise);

/// The constant behind an input; OPTIMA_NONE when there is no such input or it is no constant.
uint32_t constant_input(const Graph& graph, const image::Node& node, size_t position);
/// Dense f32 of a constant value; empty when it is of another type.
std::vector<float> floats_of(const Graph& graph, uint32_t value);
const std::vector<int64_t>& dims_of(const Graph& graph, uint32_t constant_value);

}  // namespace optima::detail
