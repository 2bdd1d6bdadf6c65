// SPDX-License-Identifier: Apache-2.0
// Einsum: a batch of matrix products where it is one, else an invocation per element of the result and a loop over all that is summed.
#include <algorithm>
#include <cctype>

#include "elements.hpp"
#include "product.hpp"

namespace spirv_plugin {
namespace of_einsum {

constexpr size_t kMostHidden = 9;  ///< dims behind "..."

/// A label for each dim of each operand and of the result. Dims behind "..." are '1' to '9', aligned at their ends.
struct Equation {
  std::vector<std::string> in{};
  std::string out{};
  std::string wrong{};  ///< a sentence; empty = it is one that kernels compute
};

/// The term with "..." as so many labels.
std::string expanded(const std::string& term, size_t hidden) {
  const size_t at = term.find("...");
  if (at == term.npos) return term;
  std::string labels;
  for (size_t k = kMostHidden - hidden; k < kMostHidden; ++k) labels += static_cast<char>('1' + k);
  return term.substr(0, at) + labels + term.substr(at + 3);
}

/// The result's labels where the equation names none: what stands behind "...", then those that appear once, sorted.
std::string implied(const std::vector<std::string>& in, size_t hidden) {
  std::string all, out = expanded("...", hidden), once;
  for (const std::string& term : in) all += term;
  for (const char c : all)
    if (std::isalpha(static_cast<unsigned char>(c)) && std::count(all.begin(), all.end(), c) == 1) once += c;
  std::sort(once.begin(), once.end());
  return out + once;
}

Equation equation_of(const sdk::Node& node) {
  Equation e;
  std::string all(node.string("equation", ""));
  all.erase(std::remove(all.begin(), all.end(), ' '), all.end());
  const size_t arrow = all.find("->");
  std::vector<std::string> terms(1);
  for (const char c : all.substr(0, arrow))
    if (c == ',') terms.emplace_back();
    else terms.back() += c;
  if (terms.size() != node.input_count()) return e.wrong = "equation of " + text(static_cast<int64_t>(terms.size())) + " operands for " + text(node.input_count()), e;
  size_t hidden = 0;
  for (uint32_t k = 0; k < terms.size(); ++k) {
    const auto rank = static_cast<size_t>(node.input(k).rank());
    const bool has = terms[k].find("...") != std::string::npos;
    const size_t named = terms[k].size() - (has ? 3 : 0);
    if (named > rank || (!has && named != rank) || rank - named > kMostHidden) return e.wrong = "term '" + terms[k] + "' for " + text(node.input(k).rank()) + " dims", e;
    hidden = std::max(hidden, rank - named);
    e.in.push_back(expanded(terms[k], rank - named));
  }
  e.out = arrow == all.npos ? implied(e.in, hidden) : expanded(all.substr(arrow + 2), hidden);
  return e;
}

/// The size of a label, 0 where no operand has it.
int64_t size_of_label(const sdk::Node& node, const Equation& e, char label) {
  int64_t n = 0;
  for (uint32_t k = 0; k < e.in.size(); ++k)
    for (uint32_t d = 0; d < e.in[k].size(); ++d)
      if (e.in[k][d] == label) n = n == 0 || n == 1 ? node.input(k).dim(d) : n;
  return n;
}

/// How far an operand's element moves with each label: twice where it has the label twice, not at all where it is repeated.
Dims strides_by(const std::string& labels, const std::string& term, const Dims& dims) {
  const Dims own = strides_of(dims);
  Dims out(labels.size(), 0);
  for (size_t k = 0; k < labels.size(); ++k)
    for (size_t d = 0; d < term.size(); ++d)
      if (term[d] == labels[k] && dims[d] != 1) out[k] += own[d];
  return out;
}

bool has(const std::string& term, char label) { return term.find(label) != term.npos; }

/// The equation as products of floats, where one label is summed and the result's last is of one operand alone: these are the columns. The label before is
/// the rows where it is of the other alone; all others are a batch. Nothing where it is none, of more than a dispatch reaches, or small.
std::optional<Multiply> as_product(Lowering& to, const sdk::Node& node, const Equation& e, const std::string& summed) {
  constexpr int64_t kMost = 65535, kFewSums = 16, kShort = 128;  // many small products leave most of their tiles idle
  if (e.in.size() != 2 || summed.size() != 1 || e.out.empty() || element_of(node.output(0).dtype()) != Element::F32) return std::nullopt;
  const std::string column = e.out.substr(e.out.size() - 1);
  const uint32_t right = has(e.in[1], column[0]) ? 1 : 0, left = 1 - right;
  if (has(e.in[left], column[0])) return std::nullopt;
  const bool has_rows = e.out.size() > 1 && has(e.in[left], e.out[e.out.size() - 2]) && !has(e.in[right], e.out[e.out.size() - 2]);
  const std::string batch = e.out.substr(0, e.out.size() - 1 - has_rows), row = e.out.substr(batch.size(), has_rows);
  const auto strides = [&](const std::string& labels, uint32_t of) { return strides_by(labels, e.in[of], node.input(of).shape()); };
  const auto stride = [&](const std::string& label, uint32_t of) { return strides(label, of)[0]; };
  Product p;
  if (has_rows) p.m = size_of_label(node, e, row[0]), p.a_row = stride(row, left);
  p.n = size_of_label(node, e, column[0]), p.b_col = stride(column, right);
  p.k = size_of_label(node, e, summed[0]), p.a_k = stride(summed, left), p.b_k = stride(summed, right);
  for (const char c : batch) p.batch.push_back(size_of_label(node, e, c));
  p.a_batch = strides(batch, left), p.b_batch = strides(batch, right);
  if (p.count() > 1 && p.m * p.n < kFewSums && p.k < kShort) return std::nullopt;
  if (p.count() > kMost || p.m > 8 * kMost || p.n > 32 * kMost) return std::nullopt;
  return Multiply{p, to.read(node.input(left)), to.read(node.input(right)), {}};
}

void lower_einsum(Lowering& to, const Group& group) {
  const sdk::Node& node = group.root;
  const Equation e = equation_of(node);
  std::string summed;
  for (const std::string& term : e.in)
    for (const char c : term)
      if (!has(e.out, c) && !has(summed, c)) summed += c;
  if (const std::optional<Multiply> product = as_product(to, node, e, summed)) return lower_product(to, group, *product);
  Dims kept, run;
  for (const char c : e.out) kept.push_back(size_of_label(node, e, c));
  for (const char c : summed) run.push_back(size_of_label(node, e, c));
  Elements sums{to, group};
  std::string bases, factors;
  for (uint32_t k = 0; k < e.in.size(); ++k) {
    const Tensor t = to.read(node.input(k));
    const std::string base = "a" + text(k);
    bases += "int " + base + "=" + strided_index("o", kept, strides_by(e.out, e.in[k], t.dims)) + ";";
    const std::string factor = sums.s.load(sums.s.in(t), base + "+" + strided_index("k", run, strides_by(summed, e.in[k], t.dims)));
    factors = k ? product_of(node.output(0).dtype(), factors, factor) : factor;
  }
  const auto n = static_cast<uint64_t>(elements_of(kept));
  sums.finish_sum(bases, factors, elements_of(run), {2 * n * static_cast<uint64_t>(elements_of(run)), 4 * n});
}

std::string no_einsum(const sdk::Node& node) {
  constexpr uint32_t kMost = 3;  // and the result: what every GPU binds
  if (node.input_count() > kMost) return "Einsum has " + text(node.input_count()) + " operands, wanted at most " + text(kMost);
  const Equation e = equation_of(node);
  if (!e.wrong.empty()) return e.wrong;
  if (e.out.size() != static_cast<size_t>(node.output(0).rank())) return "equation gives " + text(static_cast<int64_t>(e.out.size())) + " dims, the output has " + text(node.output(0).rank());
  bool empty = false;
  for (uint32_t k = 0; k < node.input_count(); ++k) empty = empty || node.input(k).elements() == 0;
  for (uint32_t d = 0; d < e.out.size(); ++d)
    if (empty || size_of_label(node, e, e.out[d]) != node.output(0).dim(d)) return empty ? "an operand has no elements" : "label '" + e.out.substr(d, 1) + "' of the result is of no operand";
  return empty ? "an operand has no elements" : "";
}

constexpr Row row() {
  Row r;
  r.op = op("Einsum", 12, 28, {kFloats | sdk::types(OPTIMA_I32, OPTIMA_I64)}, {kFloats | sdk::types(OPTIMA_I32, OPTIMA_I64)});
  r.lower = lower_einsum, r.refuse = no_einsum, r.takes_tail = true;
  return r;
}
constexpr Row kRows[] = {row()};

}  // namespace of_einsum

Family einsum_family() { return of_einsum::kRows; }

}  // namespace spirv_plugin
