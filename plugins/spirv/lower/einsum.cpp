// SPDX-License-Identifier: Apache-2.0
// Einsum: an invocation per element of the result, a loop over all that is summed.
#include <algorithm>
#include <cctype>

#include "compiler/lowering.hpp"

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

void lower_einsum(Lowering& to, const Group& group) {
  constexpr uint32_t kLocal = 64;
  const sdk::Node& node = group.root;
  const Equation e = equation_of(node);
  std::string summed;
  for (const std::string& term : e.in)
    for (const char c : term)
      if (e.out.find(c) == e.out.npos && summed.find(c) == summed.npos) summed += c;
  Dims kept, run;
  for (const char c : e.out) kept.push_back(size_of_label(node, e, c));
  for (const char c : summed) run.push_back(size_of_label(node, e, c));
  Shader s(kLocal);
  std::string bases, factors;
  for (uint32_t k = 0; k < e.in.size(); ++k) {
    const Tensor t = to.read(node.input(k));
    const std::string base = "a" + text(k);
    bases += "int " + base + "=" + strided_index("o", kept, strides_by(e.out, e.in[k], t.dims)) + ";";
    factors += (k ? "*" : "") + s.load(s.in(t), base + "+" + strided_index("k", run, strides_by(summed, e.in[k], t.dims)));
  }
  const Lowering::Tail tail = to.tail(s, group);
  const Tensor y = to.made(group.end().output(0));
  const int64_t n = y.elements(), sums = elements_of(run);
  if (n == 0) return;
  const int out = s.out(y);
  const Grid g = grid(n, kLocal);
  const Element element = element_of(node.output(0).dtype());
  s.line("int o=" + g.id + ";if(o>=" + text(n) + ")return;" + bases);
  s.line(std::string(type_of(element)) + " t=" + (element == Element::I32 ? "0" : "0.0") + ";for(int k=0;k<" + text(sums) + ";++k)t+=" + factors + ";");
  s.line(s.store(out, "o", tail("t", "o")));
  const auto macs = static_cast<uint64_t>(n) * static_cast<uint64_t>(sums);
  to.step(group, std::move(s), g.groups, {2 * macs, 4 * static_cast<uint64_t>(n)});
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
