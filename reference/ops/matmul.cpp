// SPDX-License-Identifier: Apache-2.0
// reference/ops: matrix products, determinants.
#include <algorithm>
#include <cmath>

#include "reference/ops/map.hpp"
#include "reference/ops/matmul.hpp"
#include "reference/ops/ops.hpp"
#include "reference/shapes/dims.hpp"

namespace optima::reference {

MatmulShape matmul_shape(const Dims& a, const Dims& b) {
  const MatmulDims d = matmul_dims(a, b);
  return {d.m, d.k, d.n, broadcast_index(d.outer_a, d.outer), broadcast_index(d.outer_b, d.outer), d.out};
}

namespace ops {
namespace {

/// Every product of elements along shared letters, summed (numpy's einsum, by its definition).
template <class W>
std::vector<W> sum_products(const std::vector<std::vector<W>>& x, const std::vector<Dims>& steps, const Dims& size, size_t out_rank) {
  const Dims outer(size.begin(), size.begin() + static_cast<ptrdiff_t>(out_rank)), inner(size.begin() + static_cast<ptrdiff_t>(out_rank), size.end());
  std::vector<W> out(static_cast<size_t>(count(outer)), W{0});
  const int64_t terms = count(inner);
  count(size);
  Dims at(out_rank, 0);
  for (W& o : out) {
    Dims in(inner.size(), 0);
    for (int64_t t = 0; t < terms; ++t, next(in, inner)) {
      W product = 1;
      for (size_t k = 0; k < x.size(); ++k) {
        int64_t i = 0;
        for (size_t d = 0; d < size.size(); ++d) i += (d < out_rank ? at[d] : in[d - out_rank]) * steps[k][d];
        product = static_cast<W>(product * x[k][static_cast<size_t>(i)]);
      }
      o = static_cast<W>(o + product);
    }
    next(at, outer);
  }
  return out;
}

}  // namespace

void matmul(Call& c) {
  const MatmulShape s = matmul_shape(c.in(0).dims, c.in(1).dims);
  with_wide(c.in(0).dtype, [&](auto wide) {
    using W = std::conditional_t<std::is_floating_point_v<decltype(wide)>, double, uint64_t>;  // integers wrap
    c.out(0, store(c.in(0).dtype, s.out, multiply(s, load<W>(c.in(0)), load<W>(c.in(1)))));
  });
}

void gemm(Call& c) {
  const Tensor &a = c.in(0), &b = c.in(1);
  shapes::gemm_dims(c);  // judges the ranks before elements are turned
  const auto oriented = [](const Tensor& t, bool turn) {
    std::vector<double> x = load<double>(t);
    Dims d = t.dims;
    if (!turn) return std::pair(d, x);
    std::vector<double> y(x.size());
    for (int64_t i = 0; i < d[0]; ++i)
      for (int64_t j = 0; j < d[1]; ++j) y[static_cast<size_t>(j * d[0] + i)] = x[static_cast<size_t>(i * d[1] + j)];
    return std::pair(Dims{d[1], d[0]}, y);
  };
  const auto [da, xa] = oriented(a, c.integer("transA", 0) != 0);
  const auto [db, xb] = oriented(b, c.integer("transB", 0) != 0);
  const MatmulShape s = matmul_shape(da, db);
  std::vector<double> out = multiply(s, xa, xb);
  const double alpha = c.real("alpha", 1), beta = c.real("beta", 1);
  for (double& e : out) e *= alpha;
  if (c.maybe(2)) {
    const std::vector<double> bias = load_as<double>(c.in(2), s.out);
    for (size_t i = 0; i < out.size(); ++i) out[i] += beta * bias[i];
  }
  with_wide(a.dtype, [&](auto) { c.out(0, store(a.dtype, s.out, out)); });
}

void einsum(Call& c) {
  const EinsumShape e = shapes::einsum_shape(c);
  std::vector<Dims> steps;
  for (size_t k = 0; k < e.terms.size(); ++k) {
    const Dims& dims = c.in(static_cast<uint32_t>(k)).dims;
    const Dims own = strides_of(dims);
    steps.emplace_back(e.letters.size(), 0);
    for (size_t d = 0; d < dims.size(); ++d)
      if (dims[d] != 1) steps[k][e.letters.find(e.terms[k][d])] += own[d];
  }
  with_wide(c.in(0).dtype, [&](auto wide) {
    using W = std::conditional_t<std::is_floating_point_v<decltype(wide)>, double, uint64_t>;
    std::vector<std::vector<W>> x;
    for (const Tensor& t : c.all()) x.push_back(load<W>(t));
    c.out(0, store(c.in(0).dtype, e.out(), sum_products(x, steps, e.size, e.out_rank)));
  });
}

namespace {

/// Product of the pivots of Gauss' elimination, each the largest of its column. `a` is used up.
double determinant(std::vector<double>& a, size_t n) {
  double product = 1;
  for (size_t k = 0; k < n; ++k) {
    size_t row = k;
    for (size_t i = k + 1; i < n; ++i)
      if (std::fabs(a[i * n + k]) > std::fabs(a[row * n + k])) row = i;
    if (row != k) std::swap_ranges(a.begin() + static_cast<ptrdiff_t>(row * n), a.begin() + static_cast<ptrdiff_t>(row * n + n), a.begin() + static_cast<ptrdiff_t>(k * n));
    product *= row == k ? a[k * n + k] : -a[k * n + k];
    if (a[k * n + k] == 0) return product;
    for (size_t i = k + 1; i < n; ++i) {
      const double share = a[i * n + k] / a[k * n + k];
      for (size_t j = k; j < n; ++j) a[i * n + j] -= share * a[k * n + j];
    }
  }
  return product;
}

}  // namespace

void det(Call& c) {
  const Dims to = shapes::det_dims(c);
  const std::vector<double> x = load<double>(c.in(0));
  const auto n = static_cast<size_t>(c.in(0).dims.back());
  std::vector<double> out(static_cast<size_t>(count(to))), matrix;
  for (size_t k = 0; k < out.size(); ++k) {
    matrix.assign(x.begin() + static_cast<ptrdiff_t>(k * n * n), x.begin() + static_cast<ptrdiff_t>((k + 1) * n * n));
    out[k] = determinant(matrix, n);
  }
  c.out(0, store(c.in(0).dtype, to, out));
}

}  // namespace ops
}  // namespace optima::reference
