// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/compiler: which row a node has, judgement included.
#pragma once

#include "plugins/llvm_cpu/compiler/lowering.hpp"

namespace optima::llvm_cpu {

/// Its row; null where judge() refuses the node.
const Lowering* taker(const NodeView& node);
/// Whether taker() is still this row, or none, of a node of which nothing but dims and elements of constants have changed.
bool is_taker(const Lowering* row, const NodeView& node);

}  // namespace optima::llvm_cpu
