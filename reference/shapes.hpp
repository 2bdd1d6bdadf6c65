// SPDX-License-Identifier: Apache-2.0
// reference/shapes: what a node or a graph makes at given input shapes, in numbers, without running it. The rules are those of
// the evaluators: both ask the same functions (shapes/dims.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include "reference/reference.hpp"

namespace optima::reference {

struct Type {
  int32_t dtype = OPTIMA_UNDEFINED;
  std::vector<int64_t> dims;
};

/// What a node makes. With `wants` or `data_decides`, `outputs` is empty.
struct Inference {
  std::vector<Type> outputs;      ///< by position; one that nobody names may be UNDEFINED
  uint32_t wants = OPTIMA_NONE;   ///< position of the input whose elements decide the shapes and are not known
  bool data_decides = false;      ///< only running the node tells: NonZero, Unique, nodes with bodies, operators without a rule
};

/// How the shapes of an operator follow; looked up once per node.
struct Rule;
/// Null when only running the node tells.
const Rule* rule_of(const optima_graph& graph, const optima_node& node);

/// Inputs by position, absent optional = default Tensor; a Tensor with null `data` and size 0 has a known type and shape and
/// unknown elements. Throws optima::Error (INVALID_GRAPH, UNSUPPORTED, MEMORY) with node and sentence, "node 'Add_12': shapes
/// [4, 79] and [4, 78] do not broadcast". Any thread.
Inference infer_shapes(const optima_graph& graph, const optima_node& node, const std::vector<Tensor>& inputs, const Rule* rule);
Inference infer_shapes(const optima_graph& graph, const optima_node& node, const std::vector<Tensor>& inputs);

}  // namespace optima::reference
