// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/compiler: constants that are known because sizes are. Where a plan is made at run time (fit/stretch.hpp) they are others at other sizes, so
// a kernel reads them as operands; a number of the model itself it may have as a literal.
#pragma once

#include <string_view>

namespace optima::llvm_cpu {

/// The name of such a value in the graph that is planned; all others are nameless there.
constexpr std::string_view kOfSizes = "of sizes";

}  // namespace optima::llvm_cpu
