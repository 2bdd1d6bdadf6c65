// SPDX-License-Identifier: Apache-2.0
// core/compile: a whole graph on the reference evaluators: the oracle of `compare` and of packages' self tests.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "core/graph/graph.hpp"
#include "core/tensor_io/load.hpp"
#include "core/tensor_io/tensor.hpp"

namespace optima {

/// What the main graph wants of its inputs, in order.
std::vector<TensorInfo> input_infos(const Graph& graph);

/// Runs the main graph. Inputs are found by name; dtype and static dims must fit. Gives every value named in `wanted` (any
/// value of the main graph), or the outputs in order when it is empty. InvalidInput for inputs that are missing or do not
/// fit; Placement when an operator has no reference evaluator, naming it. Slow: plain loops on one thread.
Result<std::vector<Tensor>> run_reference(const Graph& graph, const std::vector<Tensor>& inputs, const std::set<std::string>& wanted = {});

}  // namespace optima
