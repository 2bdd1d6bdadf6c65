// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: pooling in plain layout, for what the blocked kernels do not do.
#pragma once

#include "plugins/llvm_cpu/compiler/lowering.hpp"
#include "plugins/llvm_cpu/kernels/pool.hpp"

namespace optima::llvm_cpu {

/// By the operator's name and count_include_pad.
k::PoolMode pool_mode(const NodeView& node);
/// True for MaxPool with indices and AveragePool with both ceil_mode and count_include_pad.
bool needs_plain_pool(const NodeView& node);
/// One result per plane of something.
Refusal check_global_pool(const NodeView& node);
void lower_plain_pool(std::span<const NodeView> nodes, LowerContext& context);

}  // namespace optima::llvm_cpu
