// SPDX-License-Identifier: Apache-2.0
// Matrix products: a tile of the result in registers of each invocation, written out; operands come straight from their buffers.
#include <algorithm>

#include "sums.hpp"

namespace spirv_plugin {
namespace of_product {

/// Y[b] = alpha * A[b] B[b] (+ bias): where operands lie, in elements.
struct Product {
  int64_t m = 1, n = 1, k = 1;
  Dims batch{};                               ///< dims of the result ahead of m and n
  Dims a_batch{}, b_batch{};                  ///< strides of A and B, one per dim of batch
  int64_t a_row = 0, a_k = 1, b_k = 0, b_col = 1;
  double alpha = 1, beta = 1;
  Dims bias_dims{};                           ///< broadcast to m x n
};

/// Rows and columns of the tile of one invocation, and invocations of a workgroup.
struct Tile {
  int64_t rows, cols;
  uint32_t x, y;
};
Tile tile_for(const Product& p) {
  if (p.m == 1) return {1, 1, 64, 1};
  const int64_t rows = p.m >= 8 ? 8 : p.m >= 4 ? 4 : 2;
  return {rows, p.n >= 64 ? 4 : 2, 16, 4};
}

std::string name(const char* of, int64_t i) { return of + std::to_string(i); }
std::string acc(int64_t i, int64_t j) { return "a" + std::to_string(i) + "_" + std::to_string(j); }
std::string times(const std::string& at, int64_t stride) { return stride == 1 ? at : at + "*" + literal(stride); }

/// Every tile has all of its rows, or all of its columns.
bool whole_rows(const Product& p, const Tile& t) { return p.m % (t.rows * t.y) == 0; }
bool whole_columns(const Product& p, const Tile& t) { return p.n % (t.cols * t.x) == 0; }

/// `at`, but no further than the last of `n`.
std::string within(bool is_whole, const std::string& at, int64_t n) { return is_whole ? "(" + at + ")" : "min(" + at + "," + text(n - 1) + ")"; }

/// Codes of the left side by constant codes: [k][n] as they are summed, and by words [k / 4][n].
struct Coded {
  CodeSums sums;
  SumEnds ends;
};

std::string column(const Product& p, const Tile& t, int64_t j) { return within(whole_columns(p, t), "col+" + text(j * t.x), p.n); }

/// Rows and columns past the end read the last one and are not stored.
void write_tile(Shader& s, const Product& p, const Tile& t, int a, int b, const Coded* codes) {
  const bool by_words = codes && codes->sums.by_words();
  const std::string type = !codes || codes->sums.type == SumType::Floats ? "float " : "int ";
  s.line("int z=int(gl_WorkGroupID.z);");
  s.line("int row=int(gl_GlobalInvocationID.y)*" + text(t.rows) + ",col=int(gl_WorkGroupID.x)*" + text(t.cols * t.x) + "+int(gl_LocalInvocationID.x);");
  for (int64_t i = 0; i < t.rows; ++i)
    s.line("int ra" + text(i) + "=" + within(whole_rows(p, t), "row+" + text(i), p.m) + "*" + literal(p.a_row) + "+" + strided_index("z", p.batch, p.a_batch) + ";");
  for (int64_t j = 0; j < t.cols; ++j)
    s.line("int cb" + text(j) + "=" + times(column(p, t, j), p.b_col) + "+" + strided_index("z", p.batch, p.b_batch) + ";");
  for (int64_t i = 0; i < t.rows; ++i)
    for (int64_t j = 0; j < t.cols; ++j) s.line(type + acc(i, j) + "=" + (codes ? codes->ends.begin(s, column(p, t, j)) : "0.0") + ";");
  s.line("for(int k=0;k<" + text(by_words ? (p.k + 3) / 4 : p.k) + ";++k){");
  for (int64_t i = 0; i < t.rows; ++i) {
    const auto at = [&](int64_t j) { return s.load(a, name("ra", i) + "+" + times(by_words ? "(" + place_in("k", j, p.k) + ")" : "k", p.a_k)); };
    s.line(type + name("x", i) + "=" + (codes ? left_of(codes->sums, at) : at(0)) + ";");
  }
  for (int64_t j = 0; j < t.cols; ++j) {
    s.line(type + name("w", j) + "=" + s.load(b, name("cb", j) + "+" + times("k", p.b_k)) + ";");
    for (int64_t i = 0; i < t.rows; ++i)
      s.line(acc(i, j) + "+=" + (by_words ? "dot_(" + name("x", i) + "," + name("w", j) + ")" : name("x", i) + "*" + name("w", j)) + ";");
  }
  s.line("}");
}

/// A function that stores a sum at element `o` of the result.
void write_put(Shader& s, const Product& p, int out, int bias, const Lowering::Tail& tail) {
  std::string v = p.alpha == 1 ? "v" : "v*" + literal(p.alpha);
  if (bias >= 0) v += "+" + (p.beta == 1 ? "" : literal(p.beta) + "*") + s.load(bias, broadcast_index("o", {p.m, p.n}, p.bias_dims));
  s.top("void put(const int o,const float v){" + s.store(out, "o", tail(v, "o")) + "}");
}

void write_stores(Shader& s, const Product& p, const Tile& t, const Coded* codes) {
  for (int64_t j = 0; j < t.cols && codes; ++j) s.line(codes->ends.named(s, text(j), column(p, t, j)));
  for (int64_t i = 0; i < t.rows; ++i) {
    const std::string row = "row+" + text(i);
    s.line((whole_rows(p, t) ? "" : "if(" + row + "<" + text(p.m) + ")") + "{int o=(z*" + text(p.m) + "+" + row + ")*" + text(p.n) + "+col;");
    for (int64_t j = 0; j < t.cols; ++j) s.line((whole_columns(p, t) ? "" : "if(col+" + text(j * t.x) + "<" + text(p.n) + ")") + "put(o+" + text(j * t.x) + "," + (codes ? codes->ends.value(text(j), acc(i, j)) : acc(i, j)) + ");");
    s.line("}");
  }
}

/// Binds what it reads: two or three tensors, of which the last is the bias or what ends sums of codes.
struct Operands {
  Tensor a, b;
  sdk::Value bias;
  std::optional<CodeSums> sums;
};

void lower_product(Lowering& to, const Group& group, const Product& p, const Operands& from) {
  const Tile t = tile_for(p);
  Shader s(t.x, t.y);
  const int at_a = s.in(from.a), at_b = s.in(from.b);
  std::optional<Coded> codes;
  if (from.sums) {
    const std::shared_ptr<const Floats> bias = from.bias && !from.sums->has_bias ? to.known(from.bias) : nullptr;
    codes = {*from.sums, SumEnds(to, s, std::string(group.root.output(0).name()), *from.sums, bias.get())};
  }
  const int at_bias = from.bias && !codes ? s.in(to.read(from.bias)) : -1;
  const Lowering::Tail tail = to.tail(s, group);
  const Tensor y = to.made(group.end().output(0));
  if (y.elements() == 0) return;
  const int out = s.out(y);
  const Coded* coded = codes ? &*codes : nullptr;
  write_put(s, p, out, at_bias, tail);
  write_tile(s, p, t, at_a, at_b, coded);
  write_stores(s, p, t, coded);
  const int64_t batch = elements_of(p.batch);
  const auto up = [](int64_t n, int64_t by) { return static_cast<uint32_t>((n + by - 1) / by); };
  const uint64_t macs = static_cast<uint64_t>(batch * p.m * p.n * p.k);
  to.step(group, ways_of(s, codes && codes->sums.by_words(), {up(p.n, t.cols * t.x), up(p.m, t.rows * t.y), static_cast<uint32_t>(batch)}),
          {2 * macs, 4 * static_cast<uint64_t>(from.a.elements() + from.b.elements() + y.elements())});
}

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
  return by_column && is_known(group, 2) && has_one_scale(left) && !left.input(0).is_constant() && has_scales_along(*group.decoders[1], turns_right(node) ? 0 : 1) &&
         sums_of(group, columns, false);
}

/// The operands of a group that sums codes, and where they lie.
Operands coded_operands(Lowering& to, const Group& group, Product& p) {
  constexpr int64_t kWord = 4;
  Operands out{to.read(group.decoders[0]->input(0)), {}, group.root.input(2), sums_of(group, channels_of(group.root), has_dot(to) && p.k >= kWord)};
  const CodeSums& sums = *out.sums;
  const std::string name(group.root.input(1).name());
  p.b_k = p.n, p.b_col = 1;
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
  if (group.sums_codes()) return lower_product(to, group, p, coded_operands(to, group, p));
  lower_product(to, group, p, {to.read(node.input(0)), to.read(node.input(1)), {}, {}});
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
  if (group.sums_codes()) return lower_product(to, group, p, coded_operands(to, group, p));
  Tensor right;
  if (const std::shared_ptr<const Floats> from = turns_b ? to.known(node.input(1)) : nullptr) {  // neighbours along n side by side
    right = to.weight(std::string(node.input(1).name()) + "/turned", {p.k, p.n}, [from, n = p.n, k = p.k] { return turned(*from, n, k); });
    p.b_k = p.n;
  } else {
    right = to.read(node.input(1));
    p.b_k = turns_b ? 1 : p.n, p.b_col = turns_b ? p.k : 1;
  }
  if (node.input(2)) p.bias_dims = node.input(2).shape();
  lower_product(to, group, p, {to.read(node.input(0)), right, node.input(2), {}});
}

/// Counts of workgroups: along z the batch, along y eight rows and more, along x 32 columns and more.
std::string too_large(const sdk::Node& node) {
  constexpr int64_t kMost = 65535;
  const Dims y = node.output(0).shape();
  const int64_t batch = y.size() > 2 ? elements_of({y.begin(), y.end() - 2}) : 1, columns = y.empty() ? 1 : y.back(), rows = y.size() > 1 ? y[y.size() - 2] : 1;
  if (batch > kMost) return "batch of " + std::to_string(batch) + " products, wanted at most " + std::to_string(kMost);
  if (columns > 32 * kMost) return std::to_string(columns) + " columns, wanted at most " + std::to_string(32 * kMost);
  return batch * rows > 8 * kMost ? std::to_string(batch * rows) + " rows, wanted at most " + std::to_string(8 * kMost) : "";
}
std::string float_gemm(const sdk::Node& node) { return node.input(0).dtype() == node.input(1).dtype() ? too_large(node) : "operands of two types"; }

constexpr Row row(sdk::Op o, void (*lower)(Lowering&, const Group&), std::string (*refuse)(const sdk::Node&)) {
  Row r;
  r.op = o, r.lower = lower, r.refuse = refuse, r.takes_tail = true, r.sums_codes = sums_codes;
  return r;
}
constexpr Row kRows[] = {row(op("MatMul", 1, 13, {kFloats}, {kFloats}), lower_matmul, too_large), row(op("Gemm", 7, 13, {kFloats}, {kFloats}), lower_gemm, float_gemm)};

}  // namespace of_product

Family product_family() { return of_product::kRows; }

}  // namespace spirv_plugin
