// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: products of bf16 (kernels/pairs.hpp): how rows, columns and units follow from a shape.
#pragma once

#include "plugins/llvm_cpu/compiler/lowering.hpp"
#include "plugins/llvm_cpu/kernels/pairs.hpp"

namespace optima::llvm_cpu {

constexpr int64_t kPairBlocks = 2;  ///< blocks of columns per group

/// Both operands are bf16, the second one a constant, and the target multiplies such faster than f32.
bool are_pairs(const NodeView& node, const Target& target);
/// Weights [oc][ic][kh][kw] or a matrix, by their steps.
Pack pairs_pack(int64_t oc, int64_t ic, int64_t oc_stride, int64_t ic_stride, int64_t kh = 1, int64_t kw = 1);
/// The step: fills in how the work is cut up. args as the kernel has them.
Op pairs_op(k::Pairs shape, std::array<Operand, 6> args, const Target& target);

}  // namespace optima::llvm_cpu
