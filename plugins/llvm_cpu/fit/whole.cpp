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

/// Sizes of the dims that the indices name, in turn; none for another operator and where shapes are not what they have to be.
Dims named_sizes(const NodeView& n) {
  const bool by_tuples = n.op() == "GatherND" || n.op() == "ScatterND";
  const bool by_axis = n.op() == "Gather" || n.op() == "GatherElements" || n.op() == "ScatterElements";
  if ((!by_tuples && !by_axis) || !n.domain().empty() || !n.has_input(0) || !n.has_input(1) || !n.graph.is_static(n.input(0)) || !n.graph.is_static(n.input(1))) return {};
  const Dims data = n.in_dims(0), indices = n.in_dims(1);
  const auto rank = static_cast<int64_t>(data.size());
  int64_t first = by_axis ? n.integer("axis", 0) : n.op() == "GatherND" ? n.integer("batch_dims", 0) : 0;
  if (by_axis && first < 0) first += rank;
  const int64_t width = by_axis ? 1 : indices.empty() ? 0 : indices.back();
  if (first < 0 || first > rank || width < 1 || width > rank - first) return {};
  return {data.begin() + first, data.begin() + first + width};
}

}  // namespace

bool reads_outside(const NodeView& node) {
  const Dims sizes = named_sizes(node);
  if (sizes.empty()) return false;
  const std::optional<std::vector<int64_t>> indices = node.graph.integers(node.input(1));
  for (size_t k = 0; indices && k < indices->size(); ++k)
    if (const int64_t i = (*indices)[k], size = sizes[k % sizes.size()]; i < -size || i >= size) return true;
  return false;
}

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
