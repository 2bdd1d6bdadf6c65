// SPDX-License-Identifier: Apache-2.0
// tests/conformance: a case's texts as the codes that the passes make of them.
#pragma once

#include "core/graph/graph.hpp"
#include "reference/tensor.hpp"
#include "tests/conformance/node_case.hpp"

namespace optima::test {

/// Tensors of these inputs or outputs of the graph, codes of its tables where it has some.
inline std::vector<reference::Tensor> coded(const Graph& graph, const std::vector<uint32_t>& values, std::vector<reference::Tensor> tensors) {
  for (size_t k = 0; k < values.size() && k < tensors.size(); ++k) {
    const auto table = graph.texts.find(graph.main().values[values[k]].name);
    if (table != graph.texts.end()) tensors[k] = reference::make_ints(tensors[k].dims, codes_of(table->second, reference::strings(tensors[k])));
  }
  return tensors;
}

/// A case's tensors for the graph that the passes make of its model.
inline DataSet coded(const Graph& graph, DataSet set) {
  set.inputs = coded(graph, graph.main().inputs, std::move(set.inputs));
  set.outputs = coded(graph, graph.main().outputs, std::move(set.outputs));
  return set;
}

}  // namespace optima::test
