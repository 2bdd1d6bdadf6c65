// SPDX-License-Identifier: Apache-2.0
// core/placement: what the ONNX standard says of single operators, as far as it decides what moves together. Private to the room.
#pragma once

#include "core/graph/graph.hpp"

namespace optima::detail {

/// QuantizeLinear or DequantizeLinear whose scale and zero point are constants: a change of format and nothing else.
bool is_quantize(const image::Graph& graph, const image::Node& node);
bool is_dequantize(const image::Graph& graph, const image::Node& node);

}  // namespace optima::detail
