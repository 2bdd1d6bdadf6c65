// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: see shapes.hpp.
#include "plugins/llvm_cpu/lower/parts/shapes.hpp"

namespace optima::llvm_cpu {

std::optional<std::vector<int64_t>> axes_of(const NodeView& node) {
  if (node.has_input(1)) return node.graph.integers(node.input(1));
  return node.integers("axes");
}

Refusal only_first_output(const NodeView& node) {
  for (uint32_t k = 1; k < node.output_count(); ++k)
    if (node.has_output(k)) return {OPTIMA_REASON_OTHER, "output " + std::to_string(k), "wanted", "absent"};
  return {};
}

Refusal needs_constant(uint32_t input) { return {OPTIMA_REASON_CONST_REQUIRED, "input " + std::to_string(input), "computed", "constant"}; }

Refusal check_axis(int64_t axis, size_t rank) {
  const int64_t n = static_cast<int64_t>(rank);
  if (axis >= -n && axis < n) return {};
  return {OPTIMA_REASON_ATTRIBUTE, "axis", std::to_string(axis), "within [" + std::to_string(-n) + ", " + std::to_string(n - 1) + "]"};
}

Refusal wrong_shape(const NodeView& node, uint32_t input, const std::string& wanted) {
  return {OPTIMA_REASON_OTHER, "input " + std::to_string(input), to_text(node.in_dims(input)), wanted};
}

}  // namespace optima::llvm_cpu
