// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: the list of operator families. A new file of lower/ adds its line here and in families.cpp.
#pragma once

#include <span>

#include "plugins/llvm_cpu/compiler/lowering.hpp"

namespace optima::llvm_cpu {

Family conv_family();
Family conv_transpose_family();
Family pool_family();
Family alias_family();
Family elementwise_family();
Family matmul_family();
Family rows_family();
Family reduce_family();
Family move_family();
Family gather_family();
Family fill_family();
Family resize_family();
Family rnn_family();
Family plain_pool_family();

std::span<const Family> families();

}  // namespace optima::llvm_cpu
