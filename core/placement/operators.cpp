// SPDX-License-Identifier: Apache-2.0
#include "core/placement/operators.hpp"

#include <algorithm>

namespace optima::detail {
namespace {

bool fixed_format(const image::Graph& graph, const image::Node& node, const char* op) {
  if (node.op_type != op || !node.domain.empty() || node.inputs.size() < 2) return false;
  return std::all_of(node.inputs.begin() + 1, node.inputs.end(),
                     [&](uint32_t v) { return v == OPTIMA_NONE || graph.values[v].constant != OPTIMA_NONE; });
}

}  // namespace

bool is_quantize(const image::Graph& graph, const image::Node& node) { return fixed_format(graph, node, "QuantizeLinear"); }
bool is_dequantize(const image::Graph& graph, const image::Node& node) { return fixed_format(graph, node, "DequantizeLinear"); }

}  // namespace optima::detail
