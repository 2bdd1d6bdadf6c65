// SPDX-License-Identifier: Apache-2.0
// core/passes: constant folding.
#include "core/passes/fold_constants.hpp"

#include "core/passes/constant_values.hpp"

namespace optima::passes {

Status fold_constants(Graph& graph, const OwnOperators& own) {
  // A body stands behind the graph of its node, so it sees every constant that was made outside.
  for (uint32_t index = 0; index < graph.contents.graphs.size(); ++index) {
    const size_t count = graph.contents.graphs[index].nodes.size();
    std::vector<bool> folded(count);
    for (size_t n = 0; n < count; ++n) {
      const image::Node& node = graph.contents.graphs[index].nodes[n];
      spread_to_bodies(graph, index, node);
      OPTIMA_ASSIGN(folded[n], compute(graph, index, node, own));
    }
    remove_nodes(graph, index, folded, "constant");
  }
  tidy(graph);
  return {};
}

}  // namespace optima::passes
