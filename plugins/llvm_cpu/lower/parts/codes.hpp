// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: what lowerings of units share: which tails kernels on codes do, and a tail's literals, numbers and operands.
#pragma once

#include <vector>

#include "plugins/llvm_cpu/compiler/lowering.hpp"
#include "plugins/llvm_cpu/kernels/parts/codes_tail.hpp"

namespace optima::llvm_cpu {

/// Codes of 8 bits with one scale.
bool is_byte_scalar(const std::optional<Codes>& codes);
/// Those whose scale floats hold well.
bool is_simple(const std::optional<Codes>& codes);
/// A division by these scales can be made of multiplications that round as it does: no inverse overflows.
bool have_inverses(const std::vector<float>& scales);
/// What an input holds, whether the operator reads codes by itself or behind a DequantizeLinear: the codes, or the floats.
uint32_t stored_value(const UnitInput& input);

/// Kernels store the result of the unit in this layout, with every step of its tail done. Plain: as rows of the last dim.
bool takes_tail(const Unit& unit, Layout layout);

struct CodesEnd {
  k::CodesTail literals{};
  std::vector<float> numbers;
  std::vector<Operand> operands;  ///< one per step, null where it has none
  bool natural = false;           ///< values arrive at the end in steps, without operands before, and its limits are those of the type
  float divisor = 1;              ///< that the result must be divided by before the tail: it works in steps then
};
/// The tail of a unit that takes_tail(). Reads the operands of its steps.
CodesEnd lower_tail(const Unit& unit, Layout layout, LowerContext& ctx);

}  // namespace optima::llvm_cpu
