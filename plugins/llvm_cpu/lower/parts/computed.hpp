// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: weights and biases that are no constants: packed by a step of the plan.
#pragma once

#include "plugins/llvm_cpu/compiler/lowering.hpp"

namespace optima::llvm_cpu {

/// A value of floats as LowerContext::packed() has a constant, of Pack::Dense or Pack::Channels. A constant, too, where only some of a node's are computed.
Operand packed_in_run(LowerContext& ctx, uint32_t value, const Pack& pack);

}  // namespace optima::llvm_cpu
