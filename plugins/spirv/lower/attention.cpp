// SPDX-License-Identifier: Apache-2.0
// Attention, in steps: caches joined, scores with what is added to them, softmax, and the product with V.
#include <cmath>

#include "elements.hpp"
#include "lines.hpp"

namespace spirv_plugin {
namespace of_attention {

constexpr uint32_t kLocal = 64;

/// A tensor as [batch][heads][length][size], whether it lies so or as [batch][length][heads * size].
struct Heads {
  Tensor tensor;
  int64_t batch, heads, length, size, of_batch, of_head, of_row;  ///< the last three: strides
  /// The index of the first element of a row.
  std::string at(const std::string& b, const std::string& h, const std::string& row) const {
    return b + "*" + text(of_batch) + "+" + h + "*" + text(of_head) + "+" + row + "*" + text(of_row);
  }
};

Heads heads_of(const Tensor& t, int64_t asked) {
  const Dims& d = t.dims;
  if (d.size() == 4) return {t, d[0], d[1], d[2], d[3], d[1] * d[2] * d[3], d[2] * d[3], d[3]};
  const int64_t size = d[2] / asked;
  return {t, d[0], asked, d[1], size, d[1] * d[2], size, d[2]};
}

/// What a node computes, with the lengths after caches are joined.
struct Shape {
  Heads q, k, v;
  int64_t past = 0;
  int64_t rows() const { return q.batch * q.heads * q.length; }
  int64_t shared() const { return q.heads / k.heads; }  ///< heads of Q for each of K
};

Work work_of(int64_t flops, int64_t elements) { return {static_cast<uint64_t>(flops), static_cast<uint64_t>(elements) * 4}; }

/// [batch][heads][past and own length][size] in one tensor: `into`.
Heads joined(Lowering& to, const Group& group, const sdk::Value& cache, const Heads& own, const sdk::Value& made) {
  const int64_t past = cache ? cache.dim(2) : 0;
  const Dims dims{own.batch, own.heads, past + own.length, own.size};
  const Tensor into = made ? to.made(made) : to.scratch(group.root, Element::F32, dims);
  const int64_t n = into.elements(), rows = dims[2];
  if (n == 0) return heads_of(into, 0);
  Shader s(kLocal);
  const int old = past ? s.in(to.read(cache)) : -1, x = s.in(own.tensor), out = s.out(into);
  const Grid g = grid(n, kLocal);
  s.line("int o=" + g.id + ";if(o>=" + text(n) + ")return;int e=o%" + text(own.size) + ",r=o/" + text(own.size) + "%" + text(rows) + ",h=o/" + text(rows * own.size) + "%" + text(own.heads) +
         ",b=o/" + text(rows * own.size * own.heads) + ";");
  const std::string fresh = s.load(x, own.at("b", "h", "(r-" + text(past) + ")") + "+e");
  const std::string cached = past ? "r<" + text(past) + "?" + s.load(old, "((b*" + text(own.heads) + "+h)*" + text(past) + "+r)*" + text(own.size) + "+e") + ":" : "";
  s.line("float v=" + cached + fresh + ";" + s.store(out, "o", "v"));
  to.step(group, std::move(s), g.groups, work_of(0, 2 * n));
  return heads_of(into, 0);
}

/// What becomes of a score on its way into softmax.
enum Stage { kRaw, kCapped, kBiased };

/// Adds what hides scores, or moves them, to the score `v` of query `i` and key `j` of head `h` of image `b`.
void write_bias(Lowering& to, Shader& s, const sdk::Node& node, const Shape& shape, const std::string& hidden) {
  const sdk::Value mask = node.input(3), valid = node.input(6);
  const bool causal = node.integer("is_causal", 0) != 0;
  const int64_t left = node.integer("left_window_size", -1), right = node.integer("right_window_size", -1);
  if (valid) s.line("int n=" + s.load(s.in(to.read(valid)), "b") + ";if(j>=n)" + hidden);
  if (causal || left >= 0 || right >= 0) s.line("int ahead=j-i-" + (valid ? "(n-" + text(shape.q.length) + ")" : text(shape.past)) + ";");
  if (causal) s.line("if(ahead>0)" + hidden);
  if (left >= 0) s.line("if(-ahead>" + text(left) + ")" + hidden);
  if (right >= 0) s.line("if(ahead>" + text(right) + ")" + hidden);
  if (!mask) return;
  const Dims dims = mask.shape(), own = strides_of(dims);
  std::string at;
  const char* const names[] = {"b", "h", "i", "j"};
  for (size_t k = 0; k < dims.size(); ++k)
    if (dims[k] != 1) at += (at.empty() ? "" : "+") + std::string(names[4 - dims.size() + k]) + "*" + text(own[k]);
  const std::string got = s.load(s.in(to.read(mask)), at.empty() ? "0" : at);
  if (dims.back() != 1 && dims.back() < shape.k.length) s.line("if(j>=" + text(dims.back()) + ")" + hidden + "else ");
  s.line(mask.dtype() == OPTIMA_BOOL ? "{if(" + got + "==0)" + hidden + "}" : "v+=" + got + ";");
}

/// Statements that bring the score `v` from one stage to another.
void write_stages(Lowering& to, Shader& s, const sdk::Node& node, const Shape& shape, Stage from, Stage until) {
  const double cap = node.real("softcap", 0);
  if (from < kCapped && until >= kCapped && cap > 0) s.line("v=" + literal(cap) + "*tanh_(v/" + literal(cap) + ");");
  if (from < kBiased && until >= kBiased) write_bias(to, s, node, shape, "{v=" + literal(-HUGE_VAL) + ";}");
}

/// The head of a kernel over all scores: names for where score `o` stands.
std::string score_names(const Shape& shape, const Grid& g) {
  const int64_t n = shape.rows() * shape.k.length;
  const std::string keys = text(shape.k.length), queries = text(shape.q.length);
  return "int o=" + g.id + ";if(o>=" + text(n) + ")return;int j=o%" + keys + ",row=o/" + keys + ",i=row%" + queries + ",h=row/" + queries + "%" + text(shape.q.heads) +
         ",b=row/" + text(shape.q.length * shape.q.heads) + ";";
}

void lower_scores(Lowering& to, const Group& group, const Shape& shape, const Tensor& into, Stage until) {
  const sdk::Node& node = group.root;
  const int64_t n = shape.rows() * shape.k.length;
  const double scale = node.has("scale") ? node.real("scale", 1) : 1 / std::sqrt(static_cast<double>(shape.q.size));
  Shader s(kLocal);
  const int q = s.in(shape.q.tensor), k = s.in(shape.k.tensor), out = s.out(into);
  const Grid g = grid(n, kLocal);
  s.line(score_names(shape, g));
  s.line("int qa=" + shape.q.at("b", "h", "i") + ",ka=" + shape.k.at("b", "(h/" + text(shape.shared()) + ")", "j") + ";float v=0.0;");
  s.line("for(int e=0;e<" + text(shape.q.size) + ";++e)v+=" + s.load(q, "qa+e") + "*" + s.load(k, "ka+e") + ";v*=" + literal(scale) + ";");
  write_stages(to, s, node, shape, kRaw, until);
  s.line(s.store(out, "o", "v"));
  to.step(group, std::move(s), g.groups, work_of(2 * n * shape.q.size, n * 3));
}

void lower_stages(Lowering& to, const Group& group, const Shape& shape, const Tensor& scores, const Tensor& into, Stage from) {
  const int64_t n = shape.rows() * shape.k.length;
  Shader s(kLocal);
  const int x = s.in(scores), out = s.out(into);
  const Grid g = grid(n, kLocal);
  s.line(score_names(shape, g) + "float v=" + s.load(x, "o") + ";");
  write_stages(to, s, group.root, shape, from, kBiased);
  s.line(s.store(out, "o", "v"));
  to.step(group, std::move(s), g.groups, work_of(n, n * 2));
}

/// A row that is hidden throughout becomes zeros.
void lower_weights(Lowering& to, const Group& group, const Shape& shape, const Tensor& scores, const Tensor& into) {
  const Fold largest{"m", "float", literal(-HUGE_VAL), "x", "max_(a,b)"}, sum{"t", "float", "0.0", "exp(x-m)", "a+b"};
  const int64_t n = shape.rows() * shape.k.length;
  lower_along(to, group, {lines_along({shape.rows(), shape.k.length}, 1), scores, {}, {largest, sum}, false, "(m==" + literal(-HUGE_VAL) + "?0.0:exp(x-m)/t)"}, work_of(12 * n, 2 * n), &into);
}

void lower_output(Lowering& to, const Group& group, const Shape& shape, const Tensor& weights) {
  Elements e{to, group};
  const int p = e.s.in(weights), v = e.s.in(shape.v.tensor);
  const int64_t n = group.root.output(0).elements(), size = shape.v.size;
  const bool flat = group.root.input(0).rank() == 3;
  const std::string heads = text(shape.q.heads), length = text(shape.q.length);
  const std::string head = "int e=o%" + text(size) + ",b=o/" + text(size * shape.q.heads * shape.q.length) + ",h=o/" + text(flat ? size : size * shape.q.length) + "%" + heads + ",i=o/" +
                           text(flat ? size * shape.q.heads : size) + "%" + length + ",pa=((b*" + heads + "+h)*" + length + "+i)*" + text(shape.k.length) + ",va=" +
                           shape.v.at("b", "(h/" + text(shape.shared()) + ")", "0") + "+e;";
  e.finish_sum(head, e.s.load(p, "pa+k") + "*" + e.s.load(v, "va+k*" + text(shape.v.of_row)), shape.k.length, work_of(2 * n * shape.k.length, n * 3));
}

void lower_attention(Lowering& to, const Group& group) {
  const sdk::Node& node = group.root;
  const int64_t q_heads = node.integer("q_num_heads", 0), kv_heads = node.integer("kv_num_heads", 0);
  Shape shape{heads_of(to.read(node.input(0)), q_heads), heads_of(to.read(node.input(1)), kv_heads), heads_of(to.read(node.input(2)), kv_heads)};
  if (node.input(4)) shape.past = node.input(4).dim(2);
  if (node.input(4) || node.output(1)) shape.k = joined(to, group, node.input(4), shape.k, node.output(1));
  if (node.input(5) || node.output(2)) shape.v = joined(to, group, node.input(5), shape.v, node.output(2));
  const Dims dims{shape.q.batch, shape.q.heads, shape.q.length, shape.k.length};
  const sdk::Value shown = node.output(3);
  const int64_t mode = node.integer("qk_matmul_output_mode", 0);
  const auto tensor_for = [&](bool is_shown) { return shown && is_shown ? to.made(shown) : to.scratch(node, Element::F32, dims); };
  if (elements_of(dims) == 0) {
    if (shown) to.made(shown);
    return void(to.made(group.end().output(0)));
  }
  // A kernel binds four buffers: the mask and the lengths of keys come in a step of their own, as does all behind scores that are an output.
  const bool both = node.input(3) && node.input(6);
  const Stage first = shown && mode == 0 ? kRaw : (shown && mode == 1) || both ? kCapped : kBiased;
  Tensor scores = tensor_for(first == kBiased ? mode == 2 : shown && mode < 2);
  lower_scores(to, group, shape, scores, first);
  if (first != kBiased) {
    const Tensor biased = tensor_for(mode == 2);
    lower_stages(to, group, shape, scores, biased, first);
    scores = biased;
  }
  const Tensor weights = tensor_for(mode == 3);
  lower_weights(to, group, shape, scores, weights);
  lower_output(to, group, shape, weights);
}

std::string no_attention(const sdk::Node& node) {
  for (uint32_t k = 0; k < 3; ++k)
    if (node.input(k).rank() != 3 && node.input(k).rank() != 4) return "input " + text(k) + " has rank " + text(node.input(k).rank()) + ", wanted 3 or 4";
  for (uint32_t k = 0; k < 3; ++k) {
    const int64_t asked = node.integer(k == 0 ? "q_num_heads" : "kv_num_heads", 0);
    if (node.input(k).rank() == 3 && (asked < 1 || node.input(k).dim(2) % asked != 0)) return "input " + text(k) + " does not divide into " + text(asked) + " heads";
  }
  const auto heads = [&](uint32_t k) { return node.input(k).rank() == 4 ? node.input(k).dim(1) : node.integer(k == 0 ? "q_num_heads" : "kv_num_heads", 1); };
  if (heads(1) < 1 || heads(1) != heads(2) || heads(0) % heads(1) != 0) return text(heads(0)) + " heads of Q do not share " + text(heads(1)) + " of K";
  if (bool(node.input(4)) != bool(node.input(5))) return "one cache without the other";
  if (!node.output(0)) return "the answer is not wanted";
  constexpr int64_t kMostScores = int64_t{1} << 25;  // what every GPU reaches in one buffer
  const auto length = [&](uint32_t k) { return node.input(k).dim(node.input(k).rank() == 4 ? 2 : 1); };
  const int64_t keys = length(1) + (node.input(4) ? node.input(4).dim(2) : 0), rows = node.input(0).dim(0) * heads(0) * length(0);
  if (keys > 0 && rows > kMostScores / keys) return text(rows) + " rows of " + text(keys) + " scores, wanted at most " + text(kMostScores) + " in all";
  const sdk::Value mask = node.input(3);
  if (!mask) return "";
  if (mask.rank() < 1 || mask.rank() > 4) return "attn_mask has rank " + text(mask.rank()) + ", wanted 1 to 4";
  return mask.dim(static_cast<uint32_t>(mask.rank() - 1)) > keys ? "attn_mask is longer than the keys" : "";
}

constexpr sdk::Types F = kFloats;
constexpr Row row() {
  Row r;
  r.op = op("Attention", 23, 25, {F, F, F, F | kBools, F, F, sdk::types(OPTIMA_I64)}, {F});
  r.lower = lower_attention, r.refuse = no_attention, r.takes_tail = true, r.buffers = 3;
  return r;
}
constexpr Row kRows[] = {row()};

}  // namespace of_attention

Family attention_family() { return of_attention::kRows; }

}  // namespace spirv_plugin
