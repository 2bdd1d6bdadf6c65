// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/codegen: from the expression of a KernelSpec to a function in the kernel's module.
#pragma once

#include <string_view>

namespace llvm {
class Module;
}

namespace optima::llvm_cpu {

/// Gives the function `k_expression`, which element-wise templates declare and call, a body that computes `expression`, by
/// calls to the `e_*` functions of the same bitcode (always_inline, vec in, vec out). Called before anything is optimised.
/// Throws sdk::Error(OPTIMA_INTERNAL) when the text is not an expression.
void define_expression(llvm::Module& module, std::string_view expression);

}  // namespace optima::llvm_cpu
