// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: a matrix product inside another family's lowering.
#pragma once

#include <vector>

#include "plugins/llvm_cpu/compiler/lowering.hpp"
#include "plugins/llvm_cpu/lower/parts/matrix_product.hpp"

namespace optima::llvm_cpu {

/// c[M][N] = a[M][K] weights[N][K]' + bias[N] (may be null). All plain floats.
void emit_dense(int64_t M, int64_t N, int64_t K, const Operand& a, const std::vector<float>& weights, const Operand& bias, const Operand& c,
                LowerContext& context);

/// Output 0 of the node as the product of two of its inputs. B's constant panels are packed where it is one matrix.
void emit_matrix_product(const MatrixProduct& product, const NodeView& node, uint32_t a, uint32_t b, LowerContext& context);

}  // namespace optima::llvm_cpu
