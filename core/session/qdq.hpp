// SPDX-License-Identifier: Apache-2.0
// core/session: where a QDQ graph's values become codes. Private to the room.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "core/graph/graph.hpp"

namespace optima::detail {

/// A value of the main graph, no constant, with the QuantizeLinear that reads it and a DequantizeLinear behind that.
struct CodedValue {
  uint32_t value = 0, quantize = 0, dequantize = 0;  ///< value; indices of nodes
  std::string encoding;                              ///< "u8 0.0123 128"; empty when scale and zero point are not one constant each
  double low = -std::numeric_limits<double>::infinity();  ///< what the codes reach, half a step included
  double high = std::numeric_limits<double>::infinity();
};

/// By value; the first QuantizeLinear counts.
std::map<uint32_t, CodedValue> coded_values(const Graph& graph, const Uses& uses);

/// Whether it reads what a DequantizeLinear gives.
bool reads_codes(const Graph& graph, const Uses& uses, const image::Node& node);
/// Whether the node computes on codes: it reads what a DequantizeLinear gives, or, as an activation, alone reads a node that does and becomes
/// codes itself. Integer products of `dynamic` count.
bool computes_on_codes(const Graph& graph, const Uses& uses, uint32_t node);

bool is_quantize(const image::Node& node);
bool is_dequantize(const image::Node& node);

}  // namespace optima::detail
