// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/compiler: a node that no kernel computes, as a step that the runtime half gives to the reference evaluators. Only plans that are made
// where they run have such steps: their graph is there, too.
#pragma once

#include <functional>

#include "plugins/llvm_cpu/compiler/lowering.hpp"

namespace optima::llvm_cpu {

/// True for a node that goes to the reference although a kernel might do it. Null: none does, and a refused node is an error.
using ByReference = std::function<bool(const NodeView&)>;

/// The row of all such nodes: reads inputs and writes outputs as the graph has them (plain, 16-bit floats as such).
const Lowering& reference_row();

/// The kernel of such a step; its only literal is the node's index in the image. Operands: inputs by position, then outputs, absent ones null.
inline constexpr const char* kReferenceEntry = "reference";

/// True for copies that the runtime half does by itself where there is no kernel.
bool is_built_in(const KernelSpec& spec);

}  // namespace optima::llvm_cpu
