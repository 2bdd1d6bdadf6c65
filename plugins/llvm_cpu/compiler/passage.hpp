// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/compiler: the steps that carry floats between rows and blocks of channels.
#pragma once

#include "plugins/llvm_cpu/compiler/lowering.hpp"

namespace optima::llvm_cpu {

/// Whether a blocked value of these dims is the same bytes as a plain one, as far as the plain one goes.
bool is_plain_in_blocks(const Dims& dims, const Target& target);
/// What carries a value of these dims to Layout::Plain or Layout::Blocked from the other one; without operands.
Op passage(const Dims& dims, Layout to, const Target& target);

}  // namespace optima::llvm_cpu
