// SPDX-License-Identifier: Apache-2.0
// Matrix products.
#include <algorithm>
#include <map>

#include "chain.hpp"

namespace bmcompiler_plugin::top {
namespace of_product {

using Dims = std::vector<int64_t>;

int64_t count(const Dims& dims) {
  int64_t n = 1;
  for (const int64_t d : dims) n *= d;
  return n;
}

std::string floats_only(const sdk::Node& node, const Chip&) { return wants_floats(node); }

/// Dims with all but the last two as `batch`.
Dims in_batch(Dims dims, const Dims& batch) {
  std::copy(batch.begin(), batch.end(), dims.begin());
  return dims;
}

/// The product, of dims `made`, as the node's output. The tools drop an operator that changes nothing, and its name.
void end(Chain& c, const Dims& made, Value a, Value b, const Dims& out) {
  c.shape(made);
  if (made == out) c.last();
  const Value y = c.op("MatMul", {a, b, Value{}}, matmul());
  if (made != out) c.last().reshape(y, out);
}

/// Of four dims by one column: what reads it in another shape gets it wrong in F16 and BF16 (most of it 200 times its size and more, on bm1684x
/// and bm1688), of two dims it does not.
bool one_column(const Dims& left, const Dims& right) { return left.size() >= 4 && right.size() == 2 && right[1] == 1; }

/// Batches of matrices [batch, m, k] by [batch, k, n] as one product; a right side without batches is one matrix. The result has
/// `out`'s dims.
void batched(Chain& c, Value a, Dims left, Value b, Dims right, const Dims& out) {
  const int64_t m = left[left.size() - 2], k = left.back(), n = right.back();
  if (right.size() == 2 || count(right) == k * n) {
    if (right.size() != 2) b = c.reshape(b, {k, n});
    Dims made = left;
    if (one_column(left, {k, n})) made = {count(left) / k, k}, a = c.reshape(a, made);
    made.back() = n;
    end(c, made, a, b, out);
    return;
  }
  while (left.size() < right.size()) left.insert(left.begin(), 1);
  while (right.size() < left.size()) right.insert(right.begin(), 1);
  Dims batch;
  for (size_t d = 0; d + 2 < left.size(); ++d) batch.push_back(std::max(left[d], right[d]));
  a = spread(c, c.reshape(a, left), left, in_batch(left, batch));
  b = spread(c, c.reshape(b, right), right, in_batch(right, batch));
  Dims whole = batch;
  whole.push_back(m), whole.push_back(n);
  if (whole == out && whole.size() <= 4) return end(c, whole, a, b, out);  // a reshape behind it would take its name
  const int64_t all = count(batch);
  a = c.reshape(a, {all, m, k});
  b = c.reshape(b, {all, k, n});
  end(c, {all, m, n}, a, b, out);
}

void write_matmul(Lowering& to, const sdk::Node& node) {
  Dims left = dims_of(node.input(0)), right = dims_of(node.input(1));
  const Dims out = dims_of(node.output(0));
  Value a = to.read(node.input(0)), b = to.read(node.input(1));
  Chain c(to, node);
  if (left.size() >= 2 && right.size() == 2 && !one_column(left, right)) {  // the common one
    c.last().op("MatMul", {a, b, to.module().none()}, matmul());
    return;
  }
  if (left.size() == 1) left.insert(left.begin(), 1), a = c.reshape(a, left);
  if (right.size() == 1) right.push_back(1), b = c.reshape(b, right);
  const Dims plain(left.begin(), left.end() - 2);
  if (left.size() == right.size() && left.size() > 2 && std::equal(plain.begin(), plain.end(), right.begin()) && out.size() == left.size()) {
    c.shape(out).last().op("MatMul", {a, b, to.module().none()}, matmul());
    return;
  }
  batched(c, a, left, b, right, out);
}

std::vector<float> scaled(std::vector<float> v, double by) {
  for (float& x : v) x = static_cast<float>(x * by);
  return v;
}

/// Bias of the product's own: one number a column.
bool is_bias(const sdk::Value& v, int64_t columns) {
  return v && v.is_constant() && v.elements() == columns && (v.rank() == 0 || v.dim(static_cast<uint32_t>(v.rank() - 1)) == columns);
}

std::string refuses_gemm(const sdk::Node& node, const Chip& chip) {
  if (chip.name == "cv183x" && !node.input(1).is_constant() && node.input(2) && node.real("beta", 1) != 0) return "a product of two computed tensors with a bias comes out wrong on cv183x (0.1 of its size), wanted constant weights or no bias";
  return wants_floats(node);
}

void write_gemm(Lowering& to, const sdk::Node& node) {
  const double alpha = node.real("alpha", 1), beta = node.real("beta", 1);
  const sdk::Value added = node.input(2);
  const Dims out = dims_of(node.output(0)), left = dims_of(node.input(0));
  Chain c(to, node);
  Value a = to.read(node.input(0));
  if (node.integer("transA", 0) != 0) a = c.permute(a, left, {1, 0});
  Value b = to.read(node.input(1));
  const bool turned = node.integer("transB", 0) != 0;
  const bool inside = is_bias(added, out[1]) && alpha == 1, alone = !added || beta == 0;
  Value bias;
  if (inside && !alone) bias = to.module().weight(to.inner(node, "bias"), {out[1]}, scaled(Lowering::floats(added), beta));
  if (turned) b = c.permute(b, dims_of(node.input(1)), {1, 0});
  c.shape(out);
  if (alpha == 1 && (inside || alone)) {
    c.last().op("MatMul", {a, b, bias}, matmul());
    return;
  }
  Value y = c.op("MatMul", {a, b, to.module().none()}, matmul());
  if (alone) {
    c.last().mul(y, alpha);
    return;
  }
  if (alpha != 1) y = c.mul(y, alpha);
  Value sum = raised(to, node, added, 2);
  if (beta != 1) {
    Dims d = dims_of(added);
    while (d.size() < 2) d.insert(d.begin(), 1);
    sum = c.shape(d).mul(sum, beta);
  }
  c.shape(out).last().add(y, sum);
}

// --- Einsum of two operands

struct Equation {
  std::string left, right, out;
};

/// Letters alone; an absent right side is all that stand once, by the alphabet.
std::optional<Equation> parse(std::string_view text) {
  std::string s;
  for (const char ch : text)
    if (ch != ' ') s += ch;
  const size_t arrow = s.find("->"), comma = s.find(',');
  Equation e;
  if (comma == s.npos || s.find('.') != s.npos || s.find(',', comma + 1) != s.npos) return {};
  e.left = s.substr(0, comma);
  e.right = s.substr(comma + 1, arrow == s.npos ? s.npos : arrow - comma - 1);
  if (arrow != s.npos) {
    e.out = s.substr(arrow + 2);
    return e;
  }
  std::map<char, int> seen;
  for (const char ch : e.left + e.right) ++seen[ch];
  for (const auto& [ch, times] : seen)
    if (times == 1) e.out += ch;
  return e;
}

bool has_twice(const std::string& s) {
  for (size_t k = 0; k < s.size(); ++k)
    if (s.find(s[k], k + 1) != s.npos) return true;
  return false;
}

std::string refuses_einsum(const sdk::Node& node, const Chip&) {
  if (std::string why = wants_floats(node); !why.empty()) return why;
  const std::string equation(node.string("equation", ""));
  const std::optional<Equation> e = parse(equation);
  if (!e) return "equation '" + equation + "' has other than two operands, or dots: wanted two operands named by letters";
  if (has_twice(e->left) || has_twice(e->right) || has_twice(e->out)) return "equation '" + equation + "' names a dim of one operand twice";
  for (const char ch : e->left + e->right)
    if (e->out.find(ch) == e->out.npos && (e->left.find(ch) == e->left.npos || e->right.find(ch) == e->right.npos))
      return "equation '" + equation + "' sums a dim of one operand alone";
  std::map<char, int64_t> size;
  for (uint32_t side = 0; side < 2; ++side) {
    const std::string& letters = side == 0 ? e->left : e->right;
    for (uint32_t k = 0; k < letters.size(); ++k)
      if (const auto [at, is_new] = size.emplace(letters[k], node.input(side).dim(k)); !is_new && at->second != node.input(side).dim(k))
        return "equation '" + equation + "' broadcasts a dim";
  }
  return {};
}

/// Dims of both and of the result are batches; of one and of the result rows or columns; of both and not of the result summed.
void write_einsum(Lowering& to, const sdk::Node& node) {
  const Equation e = *parse(node.string("equation", ""));
  std::map<char, int64_t> size;
  const auto note = [&](const std::string& letters, const Dims& dims) {
    for (size_t k = 0; k < letters.size(); ++k) size[letters[k]] = dims[k];
  };
  note(e.left, dims_of(node.input(0))), note(e.right, dims_of(node.input(1)));
  std::string batch, summed, rows, columns;
  const auto in = [](const std::string& s, char ch) { return s.find(ch) != s.npos; };
  for (const char ch : e.left) (in(e.right, ch) ? in(e.out, ch) ? batch : summed : rows) += ch;
  for (const char ch : e.right)
    if (!in(e.left, ch)) columns += ch;
  const auto product_of = [&](const std::string& letters) {
    int64_t n = 1;
    for (const char ch : letters) n *= size[ch];
    return n;
  };
  Chain c(to, node);
  const auto arranged = [&](const sdk::Value& v, const std::string& from, const std::string& into, const Dims& dims) {
    Dims order, named;
    for (const char ch : into) order.push_back(static_cast<int64_t>(from.find(ch)));
    for (const char ch : from) named.push_back(size[ch]);
    Value x = to.read(v);
    if (from != into) x = c.permute(x, named, order);
    return c.reshape(x, dims);
  };
  const int64_t m = product_of(rows), k = product_of(summed), n = product_of(columns);
  const Dims batches = batch.size() == 2 ? Dims{size[batch[0]], size[batch[1]]} : Dims{product_of(batch)};
  const auto behind = [&](int64_t height, int64_t width) {
    Dims d = batches;
    d.push_back(height), d.push_back(width);
    return d;
  };
  const Value left = arranged(node.input(0), e.left, batch + rows + summed, behind(m, k));
  const Value right = arranged(node.input(1), e.right, batch + summed + columns, behind(k, n));
  const std::string have = batch + rows + columns;
  Dims named, order, out;
  for (const char ch : have) named.push_back(size[ch]);
  for (const char ch : e.out) order.push_back(static_cast<int64_t>(have.find(ch)));
  const Dims result = dims_of(node.output(0));
  if (have == e.out) return end(c, behind(m, n), left, right, result);
  const Value y = c.shape(behind(m, n)).op("MatMul", {left, right, to.module().none()}, matmul());
  const Value apart = c.reshape(y, named);
  c.last().permute(apart, named, order);
}

constexpr Row kRows[] = {{"Einsum", refuses_einsum, write_einsum}, {"Gemm", refuses_gemm, write_gemm}, {"MatMul", floats_only, write_matmul}};

}  // namespace of_product

sdk::Span<const Row> products() { return of_product::kRows; }

}  // namespace bmcompiler_plugin::top
