// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/fit: see whole.hpp.
#include "plugins/llvm_cpu/fit/whole.hpp"

#include "reference/ops/operators.hpp"
#include "reference/shapes.hpp"

namespace optima::llvm_cpu {
namespace {

/// What the graph says of fixed sizes is what the evaluators would make of them; of open ones nothing is said here.
bool is_sound(const sdk::Node& node) {
  std::vector<reference::Tensor> inputs;
  for (uint32_t k = 0; k < node.input_count(); ++k) {
    const sdk::Value v = node.input(k);
    inputs.emplace_back();
    if (!v) continue;
    if (!v.is_static()) return true;
    inputs.back().dtype = v.dtype(), inputs.back().dims = v.shape();
    if (v.is_constant() && v.constant().blob().data) inputs.back().data = v.constant().blob().data, inputs.back().size = v.constant().blob().size;
  }
  try {
    const reference::Inference made = reference::infer_shapes(*node.graph(), node.raw(), inputs);
    for (uint32_t k = 0; k < node.output_count() && k < made.outputs.size(); ++k)
      if (const sdk::Value v = node.output(k); v && v.is_static() && made.outputs[k].dtype != OPTIMA_UNDEFINED && v.shape() != made.outputs[k].dims) return false;
    return true;
  } catch (const sdk::Error&) {
    return false;
  }
}

constexpr std::string_view kDrivenByHost[] = {"Loop", "Scan"};

}  // namespace

std::vector<sdk::Op> operators_by_reference() {
  std::vector<sdk::Op> out;
  for (const sdk::Op& op : reference::kOperators) {
    bool is_driven = false;
    for (const std::string_view name : kDrivenByHost) is_driven = is_driven || op.name == name;
    if (!is_driven) out.push_back(op);
  }
  return out;
}

bool goes_by_reference(const sdk::Node& node) {
  static const std::vector<sdk::Op> rows = operators_by_reference();
  return sdk::judge(sdk::Span<const sdk::Op>(rows.data(), rows.size()), node).yes() && reference::why_not(*node.graph(), node.raw()).empty() &&
         is_sound(node);
}

}  // namespace optima::llvm_cpu
