// SPDX-License-Identifier: Apache-2.0
// plugins/bmcompiler/codes: what of ONNX's codes these chips have: 8 bits, one scale a tensor, and which zero points. Knows no module.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "optima/plugin/float_graph.hpp"
#include "plugins/bmcompiler/chip.hpp"

namespace bmcompiler_plugin {

namespace sdk = optima::sdk;

/// Codes of a tensor counted from 0: x = (code - zero) * scale, code 0 .. 255.
struct Range {
  float scale = 1;
  int32_t zero = 128;
  bool is_signed() const { return zero == 128; }          ///< the codes of a signed byte with zero point 0
  bool is_plain() const { return zero == 128 || zero == 0; }  ///< forms that tables without zero points have
  bool operator==(const Range&) const = default;
};

/// By value of `graph`, those of `codes` and of what stays at its border. Throws UNSUPPORTED for codes that the chip has no form of.
std::map<std::string, Range> ranges_of(const sdk::Graph& graph, const std::vector<sdk::FloatGraph::Codes>& codes, const Chip& chip);

/// Of a QuantizeLinear or DequantizeLinear: empty, or why its codes have no form.
std::string refused_codes(const sdk::Node& node, const Chip& chip);

}  // namespace bmcompiler_plugin
