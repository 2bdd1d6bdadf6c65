// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: any chain of element-wise operators. The loops and the arithmetic are made from KernelSpec::expression
// by codegen/expression.cpp, which gives k_expression its body; this is only the entry point.
#pragma once
#include "plugins/llvm_cpu/kernels/parts/literals.hpp"

namespace k {

/// In a KernelSpec the numbers follow that its expression names $1, $2, ...
struct Elementwise {
  static constexpr char entry[] = "k_elementwise";
  int64_t operands;  ///< how many
};

}  // namespace k

#ifdef VW  // the template, which only clang compiles
#include "plugins/llvm_cpu/kernels/parts/vec.hpp"

extern "C" void k_expression(void* const* args, int64_t u0, int64_t u1, char* scratch);

// args and units: as the expression says. operands: how many.
TEMPLATE(k_elementwise, Elementwise, l) { k_expression(args, u0, u1, scratch); }
#endif
