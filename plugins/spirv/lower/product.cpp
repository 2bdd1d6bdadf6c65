// SPDX-License-Identifier: Apache-2.0
// MatMul and Gemm as products.
#include <algorithm>

#include "elements.hpp"
#include "product_codes.hpp"

namespace spirv_plugin {
namespace of_product {

bool turns_right(const sdk::Node& node) { return node.op() == "Gemm" && node.integer("transB", 0) != 0; }

/// Of the constant codes of the right side, of rank 2.
Channels channels_of(const sdk::Node& node) {
  const Dims b = node.input(1).shape();
  return turns_right(node) ? Channels{b[0], b[1], b[1], 1, b[1]} : Channels{b[1], 1, b[0], b[1], 1};
}

bool sums_codes(const Group& group) {
  const sdk::Node &node = group.root, &left = *group.decoders[0];
  const sdk::Value bias = node.input(2);
  if (node.input(1).rank() != 2 || node.input(1).elements() == 0 || node.real("alpha", 1) != 1 || node.real("beta", 1) != 1) return false;
  const Channels columns = channels_of(node);
  const bool by_column = !bias || bias.elements() == 1 || (bias.elements() == columns.count && bias.dim(static_cast<uint32_t>(bias.rank() - 1)) == columns.count);
  constexpr int64_t kMostRows = 8 * 65535;  // of tiles of two
  return columns.depth <= products::kLongest && node.output(0).elements() <= kMostRows * columns.count && by_column && is_known(group, 2) && has_one_scale(left) && !left.input(0).is_constant() && has_scales_along(*group.decoders[1], turns_right(node) ? 0 : 1) &&
         sums_of(group, columns, false);
}

/// The product of a group that sums codes; `p`: of the values that the codes stand for.
CodedMultiply coded(Lowering& to, const Group& group, Product p) {
  constexpr int64_t kWord = 4;
  p.b_k = p.n, p.b_col = 1;
  CodedMultiply out{p, to.read(group.decoders[0]->input(0)), {}, group.root.input(2), *sums_of(group, channels_of(group.root), has_dot(to) && p.k >= kWord)};
  const CodeSums& sums = out.sums;
  const std::string name(group.root.input(1).name());
  const int64_t depth = sums.by_words() ? (p.k + 3) / 4 : p.k;
  std::vector<int32_t> all;
  for (int64_t k = 0; k < depth; ++k)
    for (int64_t n = 0; n < p.n; ++n)
      all.push_back(sums.by_words() ? packed_word(k, p.k, [&](int64_t at) { return sums.weights[sums.channels.at(n, at)]; }) : sums.weights[sums.channels.at(n, k)]);
  out.b = sums.type == SumType::Floats ? to.weight(name + "/codes", {depth, p.n}, std::vector<float>(all.begin(), all.end()))
                                       : to.weight(name + (sums.by_words() ? "/words" : "/codes"), {depth, p.n}, std::move(all));
  return out;
}

/// Strides of an operand's batch dims under those of the result: 0 where it is repeated.
Dims batch_strides(const Dims& dims, const Dims& batch) {
  const Dims own = strides_of(dims);
  Dims out(batch.size(), 0);
  const size_t mine = dims.size() - 2, ahead = batch.size() - mine;
  for (size_t k = 0; k < mine; ++k) out[ahead + k] = dims[k] == 1 ? 0 : own[k];
  return out;
}

/// The elements of a right side of constants that is larger than a buffer reaches, where the result has any; null of others.
std::shared_ptr<const Floats> too_wide(const Lowering& to, const sdk::Node& node) {
  return node.input(1).elements() > to.most_floats() && node.output(0).elements() > 0 ? to.known(node.input(1)) : nullptr;
}

/// An invocation for each element: of more products than workgroups along an axis.
void lower_by_elements(Lowering& to, const Group& group, const Product& p) {
  Elements e{to, group};
  const int a = e.in(group.root.input(0)), b = e.in(group.root.input(1));
  const std::string head = "int z=o/" + text(p.m * p.n) + ",aa=o/" + text(p.n) + "%" + text(p.m) + "*" + text(p.a_row) + "+" + strided_index("z", p.batch, p.a_batch) + ",ba=o%" + text(p.n) + "*" + text(p.b_col) + "+" +
                           strided_index("z", p.batch, p.b_batch) + ";";
  e.finish_sum(head, e.s.load(a, "aa+" + tiles::times("k", p.a_k)) + "*" + e.s.load(b, "ba+" + tiles::times("k", p.b_k)), p.k, products::work_of(p, p.count() * (p.m * p.k + p.k * p.n + p.m * p.n)));
}

void lower_matmul(Lowering& to, const Group& group) {
  const sdk::Node& node = group.root;
  Dims a = node.input(0).shape(), b = node.input(1).shape();
  if (a.size() == 1) a.insert(a.begin(), 1);
  if (b.size() == 1) b.push_back(1);
  Product p;
  p.m = a[a.size() - 2], p.k = a.back(), p.n = b.back();
  for (size_t d = 0; d + 2 < std::max(a.size(), b.size()); ++d) {
    const size_t rank = std::max(a.size(), b.size()), skip_a = rank - a.size(), skip_b = rank - b.size();
    const int64_t one = d < skip_a ? 1 : a[d - skip_a], other = d < skip_b ? 1 : b[d - skip_b];
    p.batch.push_back(one == 1 ? other : one);
  }
  p.a_row = p.k, p.b_k = p.n;
  p.a_batch = batch_strides(a, p.batch), p.b_batch = batch_strides(b, p.batch);
  // One right side for all of the left: a taller left side.
  if (b.size() == 2 && a.size() > 2) p.m *= elements_of(p.batch), p.batch.clear(), p.a_batch.clear(), p.b_batch.clear();
  if (group.sums_codes()) return lower_coded_product(to, group, coded(to, group, p));
  if (!too_many_groups(products::register_tile(p).groups(p), to.limits()).empty()) return lower_by_elements(to, group, p);
  if (const std::shared_ptr<const Floats> all = too_wide(to, node); all && b.size() == 2)
    return lower_wide_product(to, group, {p, to.read(node.input(0)), {}, {}}, [all, n = p.n](int64_t k, int64_t c) { return (*all)[static_cast<size_t>(k * n + c)]; });
  lower_product(to, group, {p, to.read(node.input(0)), to.read(node.input(1)), {}});
}

/// [k][n] of [n][k].
std::vector<float> turned(const Floats& from, int64_t columns, int64_t depth) {
  std::vector<float> out(from.size());
  for (int64_t n = 0; n < columns; ++n)
    for (int64_t k = 0; k < depth; ++k) out[static_cast<size_t>(k * columns + n)] = from[static_cast<size_t>(n * depth + k)];
  return out;
}

void lower_gemm(Lowering& to, const Group& group) {
  const sdk::Node& node = group.root;
  const bool turns_a = node.integer("transA", 0) != 0, turns_b = node.integer("transB", 0) != 0;
  const Dims a = node.input(0).shape(), b = node.input(1).shape();
  Product p;
  p.m = a[turns_a], p.k = a[!turns_a], p.n = b[!turns_b];
  p.alpha = node.real("alpha", 1), p.beta = node.real("beta", 1);
  if (turns_a) p.a_row = 1, p.a_k = p.m;
  else p.a_row = p.k;
  if (group.sums_codes()) return lower_coded_product(to, group, coded(to, group, p));
  if (node.input(2)) p.bias_dims = node.input(2).shape();
  if (const std::shared_ptr<const Floats> all = too_wide(to, node))
    return lower_wide_product(to, group, {p, to.read(node.input(0)), {}, node.input(2)}, [all, by_k = turns_b ? 1 : p.n, by_column = turns_b ? p.k : 1](int64_t k, int64_t c) { return (*all)[static_cast<size_t>(k * by_k + c * by_column)]; });
  Tensor right;
  if (const std::shared_ptr<const Floats> from = turns_b ? to.known(node.input(1)) : nullptr) {  // neighbours along n side by side
    right = to.weight(std::string(node.input(1).name()) + "/turned", {p.k, p.n}, [from, n = p.n, k = p.k] { return turned(*from, n, k); });
    p.b_k = p.n;
  } else {
    right = to.read(node.input(1));
    p.b_k = turns_b ? 1 : p.n, p.b_col = turns_b ? p.k : 1;
  }
  lower_product(to, group, {p, to.read(node.input(0)), right, node.input(2)});
}

std::string float_gemm(const sdk::Node& node) { return node.input(0).dtype() == node.input(1).dtype() ? "" : "operands of two types"; }

constexpr Row row(sdk::Op o, void (*lower)(Lowering&, const Group&), std::string (*refuse)(const sdk::Node&)) {
  Row r;
  r.op = o, r.lower = lower, r.refuse = refuse, r.takes_tail = true, r.sums_codes = sums_codes;
  return r;
}
constexpr Row kRows[] = {row(op("MatMul", 1, 13, {kFloats}, {kFloats}), lower_matmul, nullptr), row(op("Gemm", 7, 13, {kFloats}, {kFloats}), lower_gemm, float_gemm)};

}  // namespace of_product

Family product_family() { return of_product::kRows; }

}  // namespace spirv_plugin
