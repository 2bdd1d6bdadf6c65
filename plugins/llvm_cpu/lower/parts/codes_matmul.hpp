// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: units of products whose two operands are both computed codes (attention). Kernels: codes_matmul, codes_matmul_amx.
#pragma once

#include "plugins/llvm_cpu/lower/parts/codes.hpp"

namespace optima::llvm_cpu {

/// MatMul, QLinearMatMul, and Gemm whose C is not scaled; codes of one scale each.
bool takes_codes_matmul(const Unit& unit, const Target& target);
void lower_codes_matmul(const Unit& unit, LowerContext& ctx);

}  // namespace optima::llvm_cpu
