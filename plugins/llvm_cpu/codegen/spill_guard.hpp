// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/codegen: what the innermost loops of a kernel's machine code do. Register allocation is a cliff: one accumulator
// too many and a dense kernel is twice as slow, so the planner looks and takes a smaller tile.
#pragma once

#include <cstdint>
#include <string_view>

#include "plugins/llvm_cpu/compiler/lowering.hpp"

namespace optima::llvm_cpu {

/// Of the innermost loops with vector multiply-adds: the counts of the loop with most stack accesses per multiply-add.
struct LoopReport {
  uint32_t multiply_adds = 0;   ///< vector multiply-adds
  uint32_t stack_accesses = 0;  ///< vector loads and stores of the stack
  /// More than one access per ten multiply-adds costs speed.
  bool spills() const { return stack_accesses * 10 > multiply_adds; }
  bool spills_less_than(const LoopReport& o) const { return uint64_t{stack_accesses} * o.multiply_adds < uint64_t{o.stack_accesses} * multiply_adds; }
};

/// Disassembles an object or shared object. Throws sdk::Error(OPTIMA_INTERNAL) when it cannot be read.
LoopReport inspect_loops(std::string_view object, const Target& target);

}  // namespace optima::llvm_cpu
