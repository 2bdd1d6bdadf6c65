// SPDX-License-Identifier: Apache-2.0
// core/compile: a whole graph on the reference evaluators: the oracle of `compare` and of packages' self tests.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "core/graph/graph.hpp"
#include "core/tensor_io/tensor.hpp"

namespace optima {

/// Runs the main graph. Inputs are found by name; dtype and static dims must fit. Gives every value named in `wanted` (any
/// value of the main graph), or the outputs in order when it is empty. InvalidInput for inputs that are missing or do not
/// fit; Placement when an operator has no reference evaluator, naming it. Slow: plain loops on one thread.
Result<std::vector<Tensor>> run_reference(const Graph& graph, const std::vector<Tensor>& inputs, const std::set<std::string>& wanted = {});

/// Random inputs of the graph's own types: floats from a normal distribution, integers and booleans small and never
/// negative. The same seed gives the same bytes on every machine. Dynamic dims become 1.
Result<std::vector<Tensor>> random_inputs(const Graph& graph, uint64_t seed);

}  // namespace optima
