// SPDX-License-Identifier: Apache-2.0
// reference/ops: the product of stacks of matrices, shared by the float, integer and quantized operators.
#pragma once

#include "reference/tensor.hpp"

namespace optima::reference {

struct MatmulDims {
  int64_t m = 0, k = 0, n = 0;
  Dims outer_a, outer_b, outer, out;  ///< dims of the stacks, and of the result
};
/// numpy's rules, vectors included. Throws INVALID_GRAPH.
MatmulDims matmul_dims(Dims a, Dims b);

struct MatmulShape {
  int64_t m = 0, k = 0, n = 0;
  std::vector<int64_t> a, b;  ///< per product: which matrix of either stack
  Dims out;
};
MatmulShape matmul_shape(const Dims& a, const Dims& b);

/// Sums run over k in order.
template <class W>
std::vector<W> multiply(const MatmulShape& s, const std::vector<W>& a, const std::vector<W>& b) {
  std::vector<W> out(static_cast<size_t>(count({static_cast<int64_t>(s.a.size()), s.m, s.n})), W{0});
  for (size_t p = 0; p < s.a.size(); ++p) {
    const W *x = a.data() + s.a[p] * s.m * s.k, *y = b.data() + s.b[p] * s.k * s.n;
    W* to = out.data() + static_cast<int64_t>(p) * s.m * s.n;
    for (int64_t i = 0; i < s.m; ++i)
      for (int64_t k = 0; k < s.k; ++k)
        for (int64_t j = 0; j < s.n; ++j) to[i * s.n + j] += x[i * s.k + k] * y[k * s.n + j];
  }
  return out;
}

}  // namespace optima::reference
