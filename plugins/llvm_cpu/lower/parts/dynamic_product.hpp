// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: MatMulInteger and ConvInteger with constant weights, whose sums become floats by a scale that is known in the run: what
// dynamic quantization writes. One step on codes (kernels/codes_conv.hpp), whose multipliers and biases a small step computes before it.
#pragma once

#include <span>

#include "plugins/llvm_cpu/compiler/lowering.hpp"

namespace optima::llvm_cpu {

/// MatMulInteger, perhaps Add of integers per column, Cast to float, Mul by one scale or one per column, and perhaps Add of constants per column.
bool takes_dynamic_product(std::span<const NodeView> nodes, const Target& target);
void lower_dynamic_product(std::span<const NodeView> nodes, LowerContext& ctx);

/// The same of ConvInteger, by channels.
bool takes_dynamic_conv(std::span<const NodeView> nodes, const Target& target);
void lower_dynamic_conv(std::span<const NodeView> nodes, LowerContext& ctx);

}  // namespace optima::llvm_cpu
