// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: see families.hpp.
#include "plugins/llvm_cpu/lower/families.hpp"

#include <vector>

namespace optima::llvm_cpu {

std::span<const Family> families() {
  static const std::vector<Family> all = {
      conv_family(), conv_transpose_family(), pool_family(), plain_pool_family(), alias_family(), elementwise_family(), matmul_family(),
      rows_family(), reduce_family(), move_family(), gather_family(), fill_family(), resize_family(), rnn_family()};
  return all;
}

}  // namespace optima::llvm_cpu
