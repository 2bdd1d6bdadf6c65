// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/codegen: see expression.hpp.
#include "plugins/llvm_cpu/codegen/expression.hpp"

#include "optima/plugin/error.hpp"

namespace optima::llvm_cpu {

void define_expression(llvm::Module&, std::string_view expression) {
  throw sdk::Error(OPTIMA_INTERNAL, "expression \"" + std::string(expression) + "\" has no known operation");
}

}  // namespace optima::llvm_cpu
