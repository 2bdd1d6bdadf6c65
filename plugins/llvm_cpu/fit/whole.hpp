// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/fit: nodes that the plugin takes although no kernel computes them: the reference does, in plans that are made where they run.
#pragma once

#include <vector>

#include "optima/plugin/manifest.hpp"
#include "plugins/llvm_cpu/compiler/node.hpp"

namespace optima::llvm_cpu {

/// Rows of the manifest. All operators of the reference but loops, which the host drives.
std::vector<sdk::Op> operators_by_reference();

/// Whether the reference runs the node for this plugin: it has an evaluator, and where all sizes are fixed, the graph's are those that this makes.
bool goes_by_reference(const sdk::Node& node);

/// Whether a node gathers from or scatters to places that are known and lie outside. A kernel has no way to fail and would move them; the
/// evaluators refuse them when they run. False of indices, or sizes, that are not known.
bool reads_outside(const NodeView& node);

}  // namespace optima::llvm_cpu
