// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: see shapes.hpp.
#include "plugins/llvm_cpu/lower/shapes.hpp"

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

}  // namespace optima::llvm_cpu
