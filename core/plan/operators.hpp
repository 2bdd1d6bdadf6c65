// SPDX-License-Identifier: Apache-2.0
// core/plan: what the ONNX standard says of single operators, as far as it decides what moves together. Private to the room.
#pragma once

#include <span>
#include <vector>

#include "core/backend/backend.hpp"
#include "core/graph/graph.hpp"

namespace optima::detail {

/// QuantizeLinear or DequantizeLinear whose scale and zero point are constants: a change of format and nothing else.
bool is_quantize(const image::Graph& graph, const image::Node& node);
bool is_dequantize(const image::Graph& graph, const image::Node& node);

/// Main graph nodes, ascending, whose result depends on what ran before them: random generators (Dropout when it may train), what
/// a plugin's note marks so, and nodes with such a node in a body. They keep the model's order and run once.
std::vector<uint32_t> stateful_nodes(const Graph& graph, std::span<Backend* const> plugins);

/// A pure node with one output whose result costs next to nothing to make again: changes of format and of shape, what only depends on
/// shapes, and arithmetic on a few numbers.
bool is_cheap(const image::Graph& graph, const image::Node& node);

}  // namespace optima::detail
