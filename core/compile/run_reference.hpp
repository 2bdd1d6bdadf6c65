// SPDX-License-Identifier: Apache-2.0
// core/compile: a whole graph on the reference evaluators: the oracle of `compare` and of packages' self tests.
#pragma once

#include <atomic>
#include <set>
#include <string>
#include <vector>

#include "core/graph/graph.hpp"
#include "core/tensor_io/load.hpp"
#include "core/tensor_io/tensor.hpp"
#include "reference/reference.hpp"

namespace optima {

/// What the main graph wants of its inputs, in order.
std::vector<TensorInfo> input_infos(const Graph& graph);

/// Runs the main graph. Inputs are found by name; dtype and static dims must fit. Gives every value named in `wanted` (any
/// value of the main graph), or the outputs in order when it is empty. InvalidInput for inputs that are missing or do not
/// fit; Placement when an operator has no reference evaluator and `foreign` (evaluate_by_plugins()) none either, naming it; Plugin
/// when the latter fails; Cancelled between two nodes when `cancelled` is set. Slow: plain loops on one thread.
Result<std::vector<Tensor>> run_reference(const Graph& graph, const std::vector<Tensor>& inputs, const reference::Foreign& foreign,
                                          const std::set<std::string>& wanted = {}, const std::atomic<bool>* cancelled = nullptr);

}  // namespace optima
