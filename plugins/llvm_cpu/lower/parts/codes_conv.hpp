// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: units of convolutions and of products with constant weights, on codes. Kernels: codes_conv, codes_depthwise.
#pragma once

#include "plugins/llvm_cpu/lower/parts/codes.hpp"

namespace optima::llvm_cpu {

bool takes_codes_conv(const Unit& unit, const Target& target);
void lower_codes_conv(const Unit& unit, LowerContext& ctx);

/// MatMul and Gemm: rows of codes times a constant matrix.
bool takes_codes_product(const Unit& unit, const Target& target);
void lower_codes_product(const Unit& unit, LowerContext& ctx);

}  // namespace optima::llvm_cpu
