// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: concatenations of codes, in either layout: parts with the steps of the whole are copied, or lie there already; others pass
// a table on their way.
#pragma once

#include "plugins/llvm_cpu/compiler/lowering.hpp"

namespace optima::llvm_cpu {

bool takes_concat_codes(const Unit& unit, const Target& target);
void lower_concat_codes(const Unit& unit, LowerContext& context);

}  // namespace optima::llvm_cpu
