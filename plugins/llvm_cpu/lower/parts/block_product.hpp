// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: MatMul of floats with a constant matrix of codes of 4 or 8 bits, which stay codes in memory.
#pragma once

#include "plugins/llvm_cpu/compiler/lowering.hpp"

namespace optima::llvm_cpu {

bool takes_block_product(const Unit& unit, const Target& target);
void lower_block_product(const Unit& unit, LowerContext& ctx);

}  // namespace optima::llvm_cpu
