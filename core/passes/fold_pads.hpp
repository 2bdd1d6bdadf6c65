// SPDX-License-Identifier: Apache-2.0
// core/passes: paddings that windows can make by themselves.
#pragma once

#include "core/graph/graph.hpp"
#include "core/passes/own_operators.hpp"

namespace optima::passes {

/// A Pad of known amounts before Conv, ConvInteger, QLinearConv, MaxPool or AveragePool becomes part of their `pads`, where it adds nothing but what these read beyond the
/// border (0, the zero point, minus infinity), along the axes of the window alone, and less than the window reaches. A Pad that adds nothing
/// becomes an Identity. Others stay, as do those that somebody else reads, too; in bodies as well.
Status fold_pads(Graph& graph, const OwnOperators& own = {});

}  // namespace optima::passes
