// SPDX-License-Identifier: Apache-2.0
// reference/shapes: products of matrices and more.
#include <algorithm>
#include <map>
#include <utility>

#include "reference/ops/matmul.hpp"
#include "reference/shapes/dims.hpp"
#include "reference/shapes/rules.hpp"

namespace optima::reference {

MatmulDims matmul_dims(Dims a, Dims b) {
  if (a.empty() || b.empty()) invalid("shapes " + show(a) + " and " + show(b) + " do not multiply");
  const bool row = a.size() == 1, column = b.size() == 1;
  if (row) a.insert(a.begin(), 1);
  if (column) b.push_back(1);
  MatmulDims s;
  s.m = a[a.size() - 2], s.k = a.back(), s.n = b.back();
  if (b[b.size() - 2] != s.k) invalid("shapes " + show(a) + " and " + show(b) + " do not multiply");
  s.outer_a.assign(a.begin(), a.end() - 2);
  s.outer_b.assign(b.begin(), b.end() - 2);
  s.outer = broadcast(s.outer_a, s.outer_b);
  s.out = s.outer;
  if (!row) s.out.push_back(s.m);
  if (!column) s.out.push_back(s.n);
  return s;
}

namespace shapes {

Dims gemm_dims(const Call& c) {
  const auto oriented = [&](uint32_t k, const char* turn) {
    const Dims& d = c.in(k).dims;
    return c.integer(turn, 0) != 0 ? Dims{d[1], d[0]} : d;
  };
  const Dims &a = c.in(0).dims, &b = c.in(1).dims;
  if (a.size() != 2 || b.size() != 2) invalid("shapes " + show(a) + " and " + show(b) + " must have rank 2");
  Dims out = matmul_dims(oriented(0, "transA"), oriented(1, "transB")).out;
  if (c.maybe(2)) need_broadcast(c.in(2).dims, out);
  return out;
}

Dims det_dims(const Call& c) {
  Dims to = c.in(0).dims;
  if (to.size() < 2 || to.back() != to[to.size() - 2]) invalid("input 0 has shape " + show(to) + ", must be square matrices");
  to.resize(to.size() - 2);
  return to;
}

namespace {

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

Equation parse(std::string text, const std::vector<Dims>& inputs) {
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  const size_t arrow = text.find("->");
  std::string left = text.substr(0, arrow) + ",";
  Equation e;
  size_t dots = 0;
  for (size_t comma; (comma = left.find(',')) != std::string::npos; left.erase(0, comma + 1)) {
    if (e.terms.size() >= inputs.size()) invalid("equation '" + text + "' has more terms than the node has inputs");
    e.terms.push_back(expand_dots(left.substr(0, comma), inputs[e.terms.size()].size(), dots));
  }
  if (e.terms.size() != inputs.size()) invalid("equation '" + text + "' has fewer terms than the node has inputs");
  if (arrow == std::string::npos) e.out = implicit_output(e.terms, dots);
  else {
    const std::string right = text.substr(arrow + 2);
    size_t unused = 0;
    e.out = right.find("...") == std::string::npos ? right : expand_dots(right, right.size() - 3 + dots, unused);
  }
  return e;
}

}  // namespace

EinsumShape einsum_shape(const Call& c) {
  std::vector<Dims> inputs;
  for (uint32_t k = 0; k < c.inputs(); ++k) inputs.push_back(c.in(k).dims);
  return reference::einsum_shape(std::string(c.text("equation", "")), inputs);
}

}  // namespace shapes

EinsumShape einsum_shape(std::string equation, const std::vector<Dims>& inputs) {
  shapes::Equation e = shapes::parse(std::move(equation), inputs);
  std::string letters = e.out;
  for (const std::string& t : e.terms)
    for (char l : t)
      if (letters.find(l) == std::string::npos) letters += l;
  Dims size(letters.size(), -1);
  for (size_t k = 0; k < e.terms.size(); ++k) {
    const Dims& dims = inputs[k];
    for (size_t d = 0; d < dims.size(); ++d) {
      const size_t l = letters.find(e.terms[k][d]);
      if (size[l] < 0 || size[l] == 1) size[l] = dims[d];
      else if (dims[d] != 1 && dims[d] != size[l]) invalid(std::string("letter '") + letters[l] + "' stands for " + std::to_string(size[l]) + " and " + std::to_string(dims[d]));
    }
  }
  for (size_t l = 0; l < size.size(); ++l)
    if (size[l] < 0) invalid(std::string("letter '") + letters[l] + "' of the result is in no input");
  return {std::move(e.terms), std::move(letters), e.out.size(), std::move(size)};
}

namespace rules {

void matmul(const Call& c, Inference& to) { give(c, to, 0, c.in(0).dtype, matmul_dims(c.in(0).dims, c.in(1).dims).out); }
void matmul_integer(const Call& c, Inference& to) { give(c, to, 0, OPTIMA_I32, matmul_dims(c.in(0).dims, c.in(1).dims).out); }
void qlinear_matmul(const Call& c, Inference& to) { give(c, to, 0, c.in(7).dtype, matmul_dims(c.in(0).dims, c.in(3).dims).out); }
void gemm(const Call& c, Inference& to) { give(c, to, 0, c.in(0).dtype, shapes::gemm_dims(c)); }
void einsum(const Call& c, Inference& to) { give(c, to, 0, c.in(0).dtype, shapes::einsum_shape(c).out()); }
void det(const Call& c, Inference& to) { give(c, to, 0, c.in(0).dtype, shapes::det_dims(c)); }

}  // namespace rules
}  // namespace optima::reference
