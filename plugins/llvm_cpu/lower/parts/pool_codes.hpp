// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: pools of codes, channels last: the largest code, or a mean that is quantized again.
#pragma once

#include "plugins/llvm_cpu/compiler/lowering.hpp"

namespace optima::llvm_cpu {

/// MaxPool, AveragePool, their global ones, and ReduceMean over all of space.
bool takes_pool_codes(const Unit& unit, const Target& target);
void lower_pool_codes(const Unit& unit, LowerContext& context);

/// MaxPool of bytes that are the operator's own type, as QLinearConv has them around.
Refusal check_max_of_bytes(const NodeView& node);
void lower_max_of_bytes(std::span<const NodeView> nodes, LowerContext& context);

}  // namespace optima::llvm_cpu
