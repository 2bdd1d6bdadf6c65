// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: operators that move elements, between codes of the same steps: what they do to the reals they do to the codes.
#pragma once

#include "plugins/llvm_cpu/compiler/lowering.hpp"

namespace optima::llvm_cpu {

/// DequantizeLinear, the operator, QuantizeLinear with the same steps for all results.
bool takes_moved(const Unit& unit, const Target& target);
/// The row's own lowering, on the codes.
void lower_moved(const Unit& unit, LowerContext& context);

}  // namespace optima::llvm_cpu
