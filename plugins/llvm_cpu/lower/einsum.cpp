// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: Einsum of two operands that is a batch of matrix products: the kernel of products walks operands as they lie; and of one that it permutes.
#include <algorithm>
#include <optional>

#include "plugins/llvm_cpu/lower/parts/copy.hpp"
#include "plugins/llvm_cpu/lower/parts/dense.hpp"
#include "plugins/llvm_cpu/lower/parts/matrix_product.hpp"
#include "plugins/llvm_cpu/lower/parts/program.hpp"
#include "plugins/llvm_cpu/lower/parts/shapes.hpp"
#include "reference/shapes.hpp"

namespace optima::llvm_cpu {
namespace {

using Batch = MatrixProduct::Batch;

/// A product, and which inputs are its sides.
struct Split {
  MatrixProduct product;
  uint32_t a, b;
};

/// How far an operand moves along each letter; not at all along those that it has not, or repeats.
Dims steps_along(const std::string& letters, const std::string& term, const Dims& dims) {
  const Dims own = row_major(dims);
  Dims out(letters.size(), 0);
  for (size_t d = 0; d < dims.size(); ++d)
    if (dims[d] != 1) out[letters.find(term[d])] += own[d];
  return out;
}

/// The dims that are summed as one, where both operands walk them as one.
std::optional<Batch> joined(std::vector<Batch> dims) {
  std::erase_if(dims, [](const Batch& d) { return d.size == 1; });
  std::sort(dims.begin(), dims.end(), [](const Batch& x, const Batch& y) { return x.a != y.a ? x.a < y.a : x.b < y.b; });
  Batch out{1, 1, 0, 0};
  for (const Batch& d : dims) {
    if (out.size == 1) out = d;
    else if (d.a == out.a * out.size && d.b == out.b * out.size) out.size *= d.size;
    else return std::nullopt;
  }
  return out;
}

reference::EinsumShape einsum_of(const NodeView& n) {
  std::vector<Dims> in{n.in_dims(0)};
  if (n.has_input(1)) in.push_back(n.in_dims(1));
  return reference::einsum_shape(std::string(n.text("equation", "")), in);
}

/// Of one operand whose letters are all in the result, each once.
std::optional<Copy> permuted(const NodeView& n, const reference::EinsumShape& e) {
  if (e.letters.size() != e.out_rank || e.terms[0].size() != e.out_rank) return std::nullopt;
  return Copy{e.out(), steps_along(e.letters, e.terms[0], n.in_dims(0)), row_major(e.out())};
}

/// Columns are the result's last letter, which lie side by side, and those before it that B and the result walk as one with it; rows likewise the last
/// one that B has not. All others of the result are a batch.
std::optional<Split> split_of(const NodeView& n, const reference::EinsumShape& e) {
  const auto has = [&](uint32_t k, size_t letter) { return e.terms[k].find(e.letters[letter]) != std::string::npos; };
  const bool is_of_a = e.out_rank > 0 && has(0, e.out_rank - 1) && !has(1, e.out_rank - 1);
  Split s{{}, is_of_a ? 1U : 0U, is_of_a ? 0U : 1U};
  const Dims a = steps_along(e.letters, e.terms[s.a], n.in_dims(s.a)), b = steps_along(e.letters, e.terms[s.b], n.in_dims(s.b)), c = row_major(e.out());
  MatrixProduct& p = s.product;
  p.sbn = 0;
  std::vector<Batch> summed;
  for (size_t l = e.out_rank; l < e.letters.size(); ++l) summed.push_back({e.size[l], a[l], b[l], 0});
  const std::optional<Batch> depth = joined(std::move(summed));
  if (!depth) return std::nullopt;
  p.K = depth->size, p.sak = depth->a, p.sbk = depth->b;
  std::vector<bool> taken(e.out_rank);
  const auto is_column = [&](size_t l) { return !has(s.a, l) && (p.N == 1 ? c[l] == 1 : b[l] == p.N * p.sbn && c[l] == p.N); };
  const auto is_row = [&](size_t l) { return !has(s.b, l) && (p.M == 1 || (a[l] == p.M * p.sam && c[l] == p.M * p.scm)); };
  for (size_t l = e.out_rank; l-- > 0;) {
    if (e.size[l] == 1) taken[l] = true;
    else if (is_column(l)) taken[l] = true, p.sbn = p.N == 1 ? b[l] : p.sbn, p.N *= e.size[l];
  }
  for (size_t l = e.out_rank; l-- > 0;)
    if (!taken[l] && is_row(l)) taken[l] = true, p.sam = p.M == 1 ? a[l] : p.sam, p.scm = p.M == 1 ? c[l] : p.scm, p.M *= e.size[l];
  bool one_matrix = true;
  for (size_t l = 0; l < e.out_rank; ++l)
    if (!taken[l]) p.batch.push_back({e.size[l], a[l], b[l], c[l]}), one_matrix = one_matrix && b[l] == 0;
  p.matrices = one_matrix ? 1 : 0;
  simplify(p);
  return s;
}

Refusal check_einsum(const NodeView& n) {
  constexpr int64_t kMostSteps = 64;
  const auto refused = [&](std::string wanted) { return Refusal{OPTIMA_REASON_ATTRIBUTE, "equation", std::string(n.text("equation", "")), std::move(wanted)}; };
  for (uint32_t k = 0; k < n.input_count(); ++k)
    if (n.has_input(k) && count(n.in_dims(k)) == 0) return {OPTIMA_REASON_SIZE_LIMIT, "input " + std::to_string(k), to_text(n.in_dims(k)), "not empty"};
  reference::EinsumShape e;
  try {
    e = einsum_of(n);
    if (e.out() != n.out_dims(0)) return wrong_shape(n, 0, to_text(e.out()));
  } catch (const Error& wrong) {
    return refused("one that fits: " + wrong.text);
  }
  if (!n.has_input(1)) return permuted(n, e) ? Refusal() : refused("one that permutes its operand");
  const std::optional<Split> s = split_of(n, e);
  if (!s) return refused("sums along which both operands move alike");
  int64_t steps = 1;
  for (size_t d = 0; d + 2 < s->product.batch.size(); ++d) steps *= s->product.batch[d].size;
  return steps <= kMostSteps ? Refusal() : refused("at most " + std::to_string(kMostSteps) + " products of products");
}

void lower_einsum(std::span<const NodeView> nodes, LowerContext& ctx) {
  const NodeView& n = nodes[0];
  if (!n.has_input(1))
    return emit_copy(*permuted(n, einsum_of(n)), 4, ctx.read(n.input(0)), ctx.write(n.output(0)), "Einsum " + to_text(n.in_dims(0)), ctx);
  const Split s = *split_of(n, einsum_of(n));
  emit_matrix_product(s.product, n, s.a, s.b, ctx);
}

constexpr Lowering kEinsumFamily[] = {{"Einsum", 12, 12, {kFloat}, {kFloat}, 0, 8, 0, {1, 2, kBoth}, check_einsum, lower_einsum}};

}  // namespace

Family einsum_family() { return kEinsumFamily; }

}  // namespace optima::llvm_cpu
