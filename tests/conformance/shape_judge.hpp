// SPDX-License-Identifier: Apache-2.0
// Judges reference/shapes by what the evaluators really make, node by node.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "reference/shapes.hpp"

namespace optima::test {

/// Every value while the reference runs the graph, those of the branches taken included; UNDEFINED what is not made.
std::vector<reference::Tensor> all_values(const optima_graph& graph, const std::vector<reference::Tensor>& inputs);

/// The same tensor without elements.
reference::Tensor without_elements(const reference::Tensor& t);

struct ShapeCount {
  int inferred = 0, wanted = 0, data_decides = 0;
};

/// Compares infer_shapes() of every node that ran with `values`: with all elements, without any, and without those of each
/// input. What it says may be the truth, or that it needs an input whose elements were kept from it; nothing else. Returns the
/// first lie, empty when there is none. `counts`, by operator: of calls.
std::string judge_shapes(const optima_graph& graph, const std::vector<reference::Tensor>& values, std::map<std::string, ShapeCount>& counts);

}  // namespace optima::test
