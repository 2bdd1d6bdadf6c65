// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: bytes looked up in a table of 256, as a step.
#pragma once

#include <string>

#include "plugins/llvm_cpu/compiler/lowering.hpp"
#include "plugins/llvm_cpu/lower/parts/copy.hpp"

namespace optima::llvm_cpu {

/// to[..] = table[from[..]] over the walk. False, and nothing emitted, when more than one dim lies around the
/// innermost run that is contiguous on both sides.
bool emit_table(const Copy& walk, const Operand& from, const Operand& to, const std::string& table, const std::string& label, LowerContext& context);

/// The code of a real, by the one scale.
uint8_t code_of(float real, const Codes& codes);
/// The table from codes to codes with other steps, as they lie (as_last() where they lie last): DequantizeLinear, then QuantizeLinear.
std::string requantizing_table(const Codes& from, const Codes& to);

}  // namespace optima::llvm_cpu
