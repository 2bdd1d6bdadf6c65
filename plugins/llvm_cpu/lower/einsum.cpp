// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: Einsum of two operands that is a batch of matrix products: the kernel of products walks operands as they lie.
#include <algorithm>
#include <optional>

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
  return reference::einsum_shape(std::string(n.text("equation", "")), {n.in_dims(0), n.in_dims(1)});
}

/// Columns are the result's last letter, which lie side by side, rows the last one that B has not; all others of the result are a batch.
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
  size_t column = e.out_rank, row = e.out_rank;
  if (e.out_rank > 0 && !has(s.a, e.out_rank - 1)) column = e.out_rank - 1;
  for (size_t l = 0; l < e.out_rank; ++l)
    if (l != column && !has(s.b, l)) row = l;
  if (column < e.out_rank) p.N = e.size[column], p.sbn = b[column];
  if (row < e.out_rank) p.M = e.size[row], p.sam = a[row], p.scm = c[row];
  bool one_matrix = true;
  for (size_t l = 0; l < e.out_rank; ++l)
    if (l != column && l != row) p.batch.push_back({e.size[l], a[l], b[l], c[l]}), one_matrix = one_matrix && b[l] == 0;
  p.matrices = one_matrix ? 1 : 0;
  simplify(p);
  return s;
}

Refusal check_einsum(const NodeView& n) {
  constexpr int64_t kMostSteps = 64;
  const auto refused = [&](std::string wanted) { return Refusal{OPTIMA_REASON_ATTRIBUTE, "equation", std::string(n.text("equation", "")), std::move(wanted)}; };
  for (uint32_t k = 0; k < 2; ++k)
    if (count(n.in_dims(k)) == 0) return {OPTIMA_REASON_SIZE_LIMIT, "input " + std::to_string(k), to_text(n.in_dims(k)), "not empty"};
  reference::EinsumShape e;
  try {
    e = einsum_of(n);
    if (e.out() != n.out_dims(0)) return wrong_shape(n, 0, to_text(e.out()));
  } catch (const Error& wrong) {
    return refused("one that fits: " + wrong.text);
  }
  const std::optional<Split> s = split_of(n, e);
  if (!s) return refused("sums along which both operands move alike");
  int64_t steps = 1;
  for (size_t d = 0; d + 2 < s->product.batch.size(); ++d) steps *= s->product.batch[d].size;
  return steps <= kMostSteps ? Refusal() : refused("at most " + std::to_string(kMostSteps) + " products of products");
}

void lower_einsum(std::span<const NodeView> nodes, LowerContext& ctx) {
  const NodeView& n = nodes[0];
  const Split s = *split_of(n, einsum_of(n));
  emit_matrix_product(s.product, n, s.a, s.b, ctx);
}

constexpr Lowering kEinsumFamily[] = {{"Einsum", 12, 12, {kFloat}, {kFloat}, 0, 8, 0, {2, 2, kBoth}, check_einsum, lower_einsum}};

}  // namespace

Family einsum_family() { return kEinsumFamily; }

}  // namespace optima::llvm_cpu
