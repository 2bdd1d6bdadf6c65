// SPDX-License-Identifier: Apache-2.0
#include "core/plan/operators.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

namespace optima::detail {
namespace {

bool fixed_format(const image::Graph& graph, const image::Node& node, const char* op) {
  if (node.op_type != op || !node.domain.empty() || node.inputs.size() < 2) return false;
  return std::all_of(node.inputs.begin() + 1, node.inputs.end(),
                     [&](uint32_t v) { return v == OPTIMA_NONE || graph.values[v].constant != OPTIMA_NONE; });
}

constexpr std::array<std::string_view, 6> kGenerators = {"Bernoulli",         "Multinomial",   "RandomNormal",
                                                         "RandomNormalLike", "RandomUniform", "RandomUniformLike"};

// Ascending. Results of any size: no arithmetic, at most one pass over the bytes.
constexpr std::array<std::string_view, 11> kReshaping = {"Cast",    "ConstantOfShape", "DequantizeLinear", "Expand",  "Flatten",  "Identity",
                                                         "Reshape", "Shape",           "Size",             "Squeeze", "Unsqueeze"};
// Ascending. Cheap when the result is small: what is left of shape arithmetic.
constexpr std::array<std::string_view, 15> kArithmetic = {"Add", "And", "Concat", "Div",   "Equal", "Gather", "Greater", "Less",
                                                          "Max", "Min", "Mod",    "Mul",   "Slice", "Sub",    "Where"};
constexpr uint64_t kFewNumbers = 256;  // bytes

class States {
 public:
  States(const Graph& graph, std::span<Backend* const> plugins) : graph_(graph) {
    for (const Backend* plugin : plugins)
      for (const OperatorRow& row : plugin->manifest().operators)
        if (row.stateful) marked_.emplace(row.domain, row.op);
  }

  bool has(const image::Graph& g, const image::Node& node) const {
    if (!marked_.empty() && marked_.count({node.domain, node.op_type})) return true;
    if (node.domain.empty() && std::binary_search(kGenerators.begin(), kGenerators.end(), node.op_type)) return true;
    if (node.domain.empty() && node.op_type == "Dropout" && may_train(g, node)) return true;
    bool inside = false;
    for_each_body(node, [&](uint32_t body) {
      const image::Graph& inner = graph_.contents.graphs[body];
      inside = inside || std::any_of(inner.nodes.begin(), inner.nodes.end(), [&](const image::Node& one) { return has(inner, one); });
    });
    return inside;
  }

 private:
  // Input 2, since opset 12: a bool, false when absent.
  bool may_train(const image::Graph& g, const image::Node& node) const {
    if (node.inputs.size() < 3 || node.inputs[2] == OPTIMA_NONE) return false;
    const uint32_t constant = g.values[node.inputs[2]].constant;
    if (constant == OPTIMA_NONE) return true;
    const Blob& mode = graph_.blobs[graph_.contents.constants[constant].blob];
    return mode.size == 0 || *static_cast<const uint8_t*>(static_cast<const void*>(mode.data)) != 0;
  }

  const Graph& graph_;
  std::set<std::pair<std::string, std::string>> marked_;  // domain, operator
};

}  // namespace

std::vector<uint32_t> stateful_nodes(const Graph& graph, std::span<Backend* const> plugins) {
  const States states(graph, plugins);
  std::vector<uint32_t> out;
  for (uint32_t n = 0; n < graph.main().nodes.size(); ++n)
    if (states.has(graph.main(), graph.main().nodes[n])) out.push_back(n);
  return out;
}

bool is_cheap(const image::Graph& graph, const image::Node& node) {
  if (!node.domain.empty() || node.outputs.size() != 1) return false;
  if (std::binary_search(kReshaping.begin(), kReshaping.end(), node.op_type)) return true;
  const uint64_t bytes = static_bytes(graph.values[node.outputs[0]]);
  return bytes > 0 && bytes <= kFewNumbers && std::binary_search(kArithmetic.begin(), kArithmetic.end(), node.op_type);
}

bool is_quantize(const image::Graph& graph, const image::Node& node) { return fixed_format(graph, node, "QuantizeLinear"); }
bool is_dequantize(const image::Graph& graph, const image::Node& node) { return fixed_format(graph, node, "DequantizeLinear"); }

}  // namespace optima::detail
