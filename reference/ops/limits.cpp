// SPDX-License-Identifier: Apache-2.0
// reference/ops: what the evaluators leave out of an operator, known before a node runs.
#include <algorithm>

#include "reference/ops/ops.hpp"
#include "reference/ops/table.hpp"

namespace optima::reference {
namespace {

std::string batch_normalization(const Call& c) {
  return c.version() < 9 && c.integer("spatial", 1) == 0 ? "spatial is 0, must be 1" : "";
}

std::string recurrent(const Call& c) {
  for (const std::string& name : c.texts("activations").value_or(std::vector<std::string>{}))
    if (!ops::is_activation(name)) return "activation '" + name + "' is unknown";
  return {};
}

struct Limit {
  std::string_view op;
  std::string (*refuse)(const Call& c);
};
constexpr Limit kLimits[] = {
    {"BatchNormalization", batch_normalization}, {"GRU", recurrent}, {"LSTM", recurrent}, {"RNN", recurrent},
};

}  // namespace

std::string refuse_attributes(const optima_graph& graph, const optima_node& node) {
  const std::string_view op = view(optima_string(graph.image, &node.op_type));
  const auto* limit = std::find_if(std::begin(kLimits), std::end(kLimits), [&](const Limit& l) { return l.op == op; });
  if (limit == std::end(kLimits)) return {};
  try {
    static const std::vector<Tensor> none;
    const Lookup nowhere;
    const Foreign nobody;
    return limit->refuse(Call(graph, node, none, nowhere, nobody));
  } catch (const Error& e) {
    return e.text;
  }
}

}  // namespace optima::reference
