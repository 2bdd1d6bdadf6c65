// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: Concat along channels without leaving the blocked layout.
#pragma once

#include "plugins/llvm_cpu/compiler/lowering.hpp"

namespace optima::llvm_cpu {

/// Puts blocked pieces together; pieces that were written in place cost nothing. False, with nothing done, when the node is
/// not a concatenation of channels or none of its inputs is blocked.
bool lower_blocked_concat(const NodeView& node, LowerContext& ctx);

}  // namespace optima::llvm_cpu
