// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/compiler: how many operands each operator has, and which of them share a type. Nodes come from outside: what is
// not as the operator says would be read or written as something it is not.
#pragma once

#include "plugins/llvm_cpu/compiler/lowering.hpp"

namespace optima::llvm_cpu {

/// Refuses missing and superfluous operands, operands of mixed types, tensors (dims of 0 counted as 1) of 2^31 elements or
/// more, and constants of another size or type than their value.
Refusal check_signature(const NodeView& node);
/// False for an operator that check_signature() does not know and so always refuses.
bool has_signature(std::string_view op);

}  // namespace optima::llvm_cpu
