// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: QuantizeLinear and DequantizeLinear on their own: one pass between floats and codes, whatever layouts the two have.
#pragma once

#include "plugins/llvm_cpu/compiler/lowering.hpp"

namespace optima::llvm_cpu {

/// 8-bit codes of an image, one scale in all or one per channel.
bool is_end(const NodeView& node, const Target& target);
/// Makes output 0 of such a node, in `layout` where one pass can; then true. Else nothing is done.
bool lower_end(const NodeView& node, Layout layout, LowerContext& context);

}  // namespace optima::llvm_cpu
