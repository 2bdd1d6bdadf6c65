// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/runtime: outputs that may be made in the memory of an input: caches that a node writes a few rows of (optima_binding.alias).
#pragma once

#include <cstdint>
#include <vector>

#include "optima/abi.h"
#include "plugins/llvm_cpu/plan/plan.hpp"

namespace optima::llvm_cpu {

/// For each output the number of the input in whose memory it may be made, or OPTIMA_NONE; no input for two outputs. Such an output begins as a copy of that
/// input (the copy finds both at one place), and nothing else reads the input.
std::vector<uint32_t> in_place(const Plan& plan);
/// The same of a graph that is planned where it runs: the output is what a scatter makes of the input, whatever its sizes.
std::vector<uint32_t> in_place(const optima_graph& graph);

}  // namespace optima::llvm_cpu
