// SPDX-License-Identifier: Apache-2.0
// reference/ops: the list of what the reference evaluates, one row per operator.
#pragma once

#include "reference/call.hpp"
#include "reference/ops/signature.hpp"

namespace optima::reference {

using Evaluator = void (*)(Call& call);

struct Row {
  Signature sig;
  Evaluator run;
};

/// Sorted by name.
Span<const Row> table();
/// Null when there is none.
const Row* find_row(const optima_image* image, const optima_node& node);

/// Why the node cannot run whatever its inputs are, by attributes and constant inputs; empty when it can.
std::string refuse_attributes(const optima_graph& graph, const optima_node& node);

}  // namespace optima::reference
