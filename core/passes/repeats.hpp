// SPDX-License-Identifier: Apache-2.0
// core/passes: the Loop that repeats slices of a tensor, each as often as another tensor says. Private to resolve_sequences.
#pragma once

#include "core/graph/graph.hpp"

namespace optima::passes {

/// PyTorch's repeat_interleave with counts that are a tensor is, as its exporter to ONNX writes it (torch/onnx/symbolic_opset13.py), a Loop over sequences: it takes one slice
/// of x and one count, expands, and appends. Here it is a Gather of x along the axis, by indices that two running sums make of the counts. Bodies too. True when there was one.
bool restate_repeats(Graph& graph);

}  // namespace optima::passes
