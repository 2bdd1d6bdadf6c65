// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/fit: nodes that the plugin takes although no kernel computes them: the reference does, in plans that are made where they run.
#pragma once

#include <vector>

#include "optima/plugin/manifest.hpp"

namespace optima::llvm_cpu {

/// Rows of the manifest. All operators of the reference but loops, which the host drives.
std::vector<sdk::Op> operators_by_reference();

/// Whether the reference runs the node for this plugin: it has an evaluator, and where all sizes are fixed, the graph's are those that this makes.
bool goes_by_reference(const sdk::Node& node);

}  // namespace optima::llvm_cpu
