// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: MatMul and Gemm as one product of matrices by steps.
#pragma once

#include <vector>

#include "plugins/llvm_cpu/compiler/node.hpp"

namespace optima::llvm_cpu {

/// C[M][N] = A[M][K] B[K][N] for every batch; strides in elements.
struct MatrixProduct {
  /// One dim of the batch and how far each operand moves along it.
  struct Batch {
    int64_t size, a, b, c;
  };
  int64_t M = 1, N = 1, K = 1;
  int64_t sam = 0, sak = 1, sbk = 0, sbn = 1, scm = 0;
  std::vector<Batch> batch{};  ///< none of size 1; those that all operands walk as one are merged, into M where B is shared
  int64_t matrices = 1;        ///< of B, one behind the other; 0: they lie otherwise
  float alpha = 1;

  /// As MatMul multiplies operands of these dims.
  static MatrixProduct of(Dims a, Dims b);
};

/// Drops batch dims of size 1, merges those that all operands walk as one, and the batch into M where B is shared.
void simplify(MatrixProduct& product);

/// Of a MatMul or Gemm, by its inputs 0 and 1.
MatrixProduct product_of(const NodeView& node);

}  // namespace optima::llvm_cpu
