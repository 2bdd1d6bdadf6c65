// SPDX-License-Identifier: Apache-2.0
// reference/ops: matrix products.
#include <algorithm>
#include <map>

#include "reference/ops/map.hpp"
#include "reference/ops/matmul.hpp"
#include "reference/ops/ops.hpp"

namespace optima::reference {

MatmulShape matmul_shape(Dims a, Dims b) {
  if (a.empty() || b.empty()) invalid("shapes " + show(a) + " and " + show(b) + " do not multiply");
  const bool row = a.size() == 1, column = b.size() == 1;
  if (row) a.insert(a.begin(), 1);
  if (column) b.push_back(1);
  MatmulShape s;
  s.m = a[a.size() - 2], s.k = a.back(), s.n = b.back();
  if (b[b.size() - 2] != s.k) invalid("shapes " + show(a) + " and " + show(b) + " do not multiply");
  const Dims outer_a(a.begin(), a.end() - 2), outer_b(b.begin(), b.end() - 2);
  const Dims outer = broadcast(outer_a, outer_b);
  s.a = broadcast_index(outer_a, outer);
  s.b = broadcast_index(outer_b, outer);
  s.out = outer;
  if (!row) s.out.push_back(s.m);
  if (!column) s.out.push_back(s.n);
  return s;
}

namespace ops {
namespace {

/// Every k-th element pair along shared letters is multiplied and summed (numpy's einsum, by its definition).
struct Equation {
  std::vector<std::string> terms;  // a letter per axis; an axis under "..." is a control character
  std::string out;
};

/// Axes covered by "..." become '\1', '\2', … counted from the right, so that they broadcast.
std::string expand_dots(const std::string& term, size_t rank, size_t& dots) {
  const size_t at = term.find("...");
  if (at == std::string::npos) {
    if (term.size() != rank) invalid("term '" + term + "' has " + std::to_string(term.size()) + " axes, its input has " + std::to_string(rank));
    return term;
  }
  if (term.size() - 3 > rank) invalid("term '" + term + "' has more axes than its input");
  const size_t n = rank - (term.size() - 3);
  std::string middle;
  for (size_t k = n; k > 0; --k) middle += static_cast<char>(k);
  dots = std::max(dots, n);
  return term.substr(0, at) + middle + term.substr(at + 3);
}

std::string implicit_output(const std::vector<std::string>& terms, size_t dots) {
  std::map<char, int> seen;
  for (const std::string& t : terms)
    for (char l : t) ++seen[l];
  std::string out;
  for (size_t k = dots; k > 0; --k) out += static_cast<char>(k);
  for (const auto& [letter, times] : seen)
    if (times == 1 && letter > 25) out += letter;
  return out;
}

Equation parse(Call& c) {
  std::string text = c.text("equation", "");
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  const size_t arrow = text.find("->");
  std::string left = text.substr(0, arrow) + ",";
  Equation e;
  size_t dots = 0;
  for (size_t comma; (comma = left.find(',')) != std::string::npos; left.erase(0, comma + 1)) {
    if (e.terms.size() >= c.inputs()) invalid("equation '" + text + "' has more terms than the node has inputs");
    e.terms.push_back(expand_dots(left.substr(0, comma), c.in(static_cast<uint32_t>(e.terms.size())).dims.size(), dots));
  }
  if (e.terms.size() != c.inputs()) invalid("equation '" + text + "' has fewer terms than the node has inputs");
  if (arrow == std::string::npos) e.out = implicit_output(e.terms, dots);
  else {
    const std::string right = text.substr(arrow + 2);
    size_t unused = 0;
    e.out = right.find("...") == std::string::npos ? right : expand_dots(right, right.size() - 3 + dots, unused);
  }
  return e;
}

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
  if (a.dims.size() != 2 || b.dims.size() != 2) invalid("shapes " + show(a.dims) + " and " + show(b.dims) + " must have rank 2");
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
  const Equation e = parse(c);
  std::string letters = e.out;
  for (const std::string& t : e.terms)
    for (char l : t)
      if (letters.find(l) == std::string::npos) letters += l;
  Dims size(letters.size(), -1);
  std::vector<Dims> steps;
  for (size_t k = 0; k < e.terms.size(); ++k) {
    const Dims& dims = c.in(static_cast<uint32_t>(k)).dims;
    const Dims own = strides_of(dims);
    steps.emplace_back(letters.size(), 0);
    for (size_t d = 0; d < dims.size(); ++d) {
      const size_t l = letters.find(e.terms[k][d]);
      if (size[l] < 0 || size[l] == 1) size[l] = dims[d];
      else if (dims[d] != 1 && dims[d] != size[l]) invalid(std::string("letter '") + letters[l] + "' stands for " + std::to_string(size[l]) + " and " + std::to_string(dims[d]));
      if (dims[d] != 1) steps[k][l] += own[d];
    }
  }
  for (size_t l = 0; l < size.size(); ++l)
    if (size[l] < 0) invalid(std::string("letter '") + letters[l] + "' of the result is in no input");
  with_wide(c.in(0).dtype, [&](auto wide) {
    using W = std::conditional_t<std::is_floating_point_v<decltype(wide)>, double, uint64_t>;
    std::vector<std::vector<W>> x;
    for (const Tensor& t : c.all()) x.push_back(load<W>(t));
    c.out(0, store(c.in(0).dtype, Dims(size.begin(), size.begin() + static_cast<ptrdiff_t>(e.out.size())), sum_products(x, steps, size, e.out.size())));
  });
}

}  // namespace ops
}  // namespace optima::reference
