// SPDX-License-Identifier: Apache-2.0
// Attention as products, what hides scores, and Softmax. Heads of Q that share one of K lie in rows of one product.
#include <algorithm>
#include <cmath>

#include "chain.hpp"
#include "pieces.hpp"

namespace bmcompiler_plugin::top {
namespace of_attention {

using Dims = std::vector<int64_t>;

constexpr uint32_t kMask = 3, kPastKey = 4, kPastValue = 5, kLengths = 6;
/// In place of minus infinity: exp() of it less any score is 0, and sums of it stay finite.
double hidden_on(const Chip& chip) { return chip.name == "cv183x" ? kLeastPower : -1e30; }

/// One node, written.
class Attending {
 public:
  Attending(Lowering& to, const sdk::Node& node) : to_(to), node_(node), make_(to, node) {}

  void write() {
    Piece q = heads(0, "q_num_heads"), k = heads(1, "kv_num_heads"), v = heads(2, "kv_num_heads");
    const int64_t past = node_.input(kPastKey) ? dims_of(node_.input(kPastKey))[2] : 0;
    if (node_.input(kPastKey)) k = make_.joined({make_.read(kPastKey), k}, 2), v = make_.joined({make_.read(kPastValue), v}, 2);
    finish(k, 1), finish(v, 2);
    batch_ = q.dims[0], heads_ = q.dims[1], rows_ = q.dims[2], keys_ = k.dims[2], past_ = past;
    const int64_t shared = k.dims[1], size = q.dims[3];
    const double scale = node_.has("scale") ? node_.real("scale", 1) : 1 / std::sqrt(static_cast<double>(size));

    q = make_.reshaped(make_.scaled(q, scale), {batch_, shared, heads_ / shared * rows_, size});
    Piece scores = make_.op("scores", "MatMul", {q, make_.transposed(k, {0, 1, 3, 2}), none()}, matmul(), {batch_, shared, heads_ / shared * rows_, keys_});
    scores = make_.reshaped(scores, all());
    shown(scores, 0);
    if (const double cap = node_.real("softcap", 0); cap > 0) scores = make_.scaled(make_.op("capped", "Tanh", {make_.scaled(scores, 1 / cap)}, {}, all()), cap);
    shown(scores, 1);
    const std::optional<Hiding> hidden = hiding();
    if (hidden) scores = make_.both("Add", scores, hidden->bias);
    shown(scores, 2);
    Piece weights = make_.op("weights", "Softmax", {scores}, Attributes().si32("axis", 3).flag("log", false).f64("beta", 1).text("round_mode", kHalfAway), all());
    if (hidden && may_hide_rows()) weights = make_.both("Mul", weights, seen_rows(hidden->seen));
    shown(weights, 3);
    weights = make_.reshaped(weights, {batch_, shared, heads_ / shared * rows_, keys_});
    Piece y = make_.op("answer", "MatMul", {weights, v, none()}, matmul(), {batch_, shared, heads_ / shared * rows_, v.dims[3]});
    y = make_.reshaped(y, {batch_, heads_, rows_, v.dims[3]});
    if (node_.input(0).rank() == 3) y = make_.reshaped(make_.transposed(y, {0, 2, 1, 3}), dims_of(node_.output(0)));
    make_.finish(y, 0);
  }

 private:
  Piece none() { return {to_.module().none(), {}}; }
  Dims all() const { return {batch_, heads_, rows_, keys_}; }

  /// [batch, heads, length, size].
  Piece heads(uint32_t input, const char* count) {
    const Piece x = make_.read(input);
    if (x.dims.size() == 4) return x;
    const int64_t n = node_.integer(count, 1);
    return make_.transposed(make_.reshaped(x, {x.dims[0], x.dims[1], n, x.dims[2] / n}), {0, 2, 1, 3});
  }

  void finish(const Piece& x, uint32_t output) {
    if (node_.output(output)) make_.finish(x, output);
  }
  void shown(const Piece& x, int64_t mode) {
    if (node_.output(3) && node_.integer("qk_matmul_output_mode", 0) == mode) make_.finish(x, 3);
  }

  /// What is added to scores, in their dims, and where they are seen: 1, else 0. Whether a row is seen at all comes of the latter: the largest of
  /// numbers such as these is another on emulators.
  struct Hiding {
    Piece bias, seen;
  };

  /// What is hidden whatever is computed: causal order, windows, and lengths of keys that are constants.
  std::optional<Hiding> fixed() {
    const bool causal = node_.integer("is_causal", 0) != 0;
    const int64_t left = node_.integer("left_window_size", -1), right = node_.integer("right_window_size", -1);
    Dims lengths;
    if (node_.input(kLengths)) lengths = Lowering::integers(node_.input(kLengths));
    if (!causal && left < 0 && right < 0 && lengths.empty()) return std::nullopt;
    const int64_t images = lengths.empty() ? 1 : batch_;
    std::vector<float> bias, seen;
    for (int64_t b = 0; b < images; ++b) {
      const int64_t length = lengths.empty() ? keys_ : lengths[static_cast<size_t>(b)], first = lengths.empty() ? past_ : length - rows_;
      for (int64_t i = 0; i < rows_; ++i)
        for (int64_t j = 0; j < keys_; ++j) {
          const int64_t ahead = j - i - first;
          const bool hides = (causal && ahead > 0) || (left >= 0 && -ahead > left) || (right >= 0 && ahead > right) || j >= length;
          bias.push_back(hides ? static_cast<float>(hidden_on(to_.chip())) : 0.0F), seen.push_back(hides ? 0.0F : 1.0F);
        }
    }
    const Dims dims{images, 1, rows_, keys_};
    return Hiding{whole(make_.weight(dims, bias)), whole(make_.weight(dims, seen))};
  }

  /// The mask as long as the keys; infinities are numbers here.
  Hiding mask() {
    const sdk::Value value = node_.input(kMask);
    const Dims dims = raised_dims(value, 4);
    const Piece x{raised(to_, node_, value, 4), dims};
    if (value.dtype() == OPTIMA_BOOL) {
      const Piece seen = whole(lengthened(x, 0));
      return {make_.scaled(make_.scaled(seen, 1, -1), -hidden_on(to_.chip())), seen};
    }
    const Piece bias = whole(lengthened(make_.op("mask", "MaxConst", {x}, Attributes().f64("const_val", hidden_on(to_.chip())).flag("is_scalar", false), dims), hidden_on(to_.chip())));
    return {bias, make_.op("seen", "CompareConst", {bias}, Attributes().text("mode", "Greater").f64("const_val", hidden_on(to_.chip()) / 10).flag("inversed", false).flag("is_scalar", false), all())};
  }

  Piece lengthened(const Piece& x, double with) {
    if (x.dims[3] == 1 || x.dims[3] == keys_) return x;
    Dims rest = x.dims;
    rest[3] = keys_ - x.dims[3];
    return make_.joined({x, make_.weight(rest, std::vector<float>(static_cast<size_t>(product(rest)), static_cast<float>(with)))}, 3);
  }

  /// In the dims of the scores: chips do not broadcast every pair.
  Piece whole(const Piece& x) {
    Chain c(to_, node_);
    return {spread(c, x.value, x.dims, all()), all()};
  }

  std::optional<Hiding> hiding() {
    std::optional<Hiding> both = fixed();
    if (!node_.input(kMask)) return both;
    const Hiding given = mask();
    if (!both) return given;
    return Hiding{make_.both("Add", both->bias, given.bias), make_.both("Mul", both->seen, given.seen)};
  }

  bool may_hide_rows() const { return bool(node_.input(kMask)) || bool(node_.input(kLengths)) || node_.integer("left_window_size", -1) >= 0; }

  /// 0 for a row without a key that is seen, which Softmax would make even weights of; else 1.
  Piece seen_rows(const Piece& seen) {
    return whole(make_.op("most", "Reduce", {seen}, Attributes().i64s("axes", {3}).flag("keepdims", true).text("mode", "ReduceMax").flag("is_scalar", false), {batch_, heads_, rows_, 1}));
  }

  Lowering& to_;
  const sdk::Node& node_;
  Pieces make_;
  int64_t batch_ = 0, heads_ = 0, rows_ = 0, keys_ = 0, past_ = 0;
};

void write_attention(Lowering& to, const sdk::Node& node) { Attending(to, node).write(); }

int64_t heads_of(const sdk::Node& node, uint32_t input) {
  if (node.input(input).rank() == 4) return node.input(input).dim(1);
  return node.integer(input == 0 ? "q_num_heads" : "kv_num_heads", 0);
}

std::string refuses_attention(const sdk::Node& node, const Chip&) {
  for (uint32_t k = 0; k < 3; ++k) {
    const sdk::Value x = node.input(k);
    if (x.dtype() != OPTIMA_F32) return wants_floats(node);
    if (x.rank() != 3 && x.rank() != 4) return "input " + std::to_string(k) + " has rank " + std::to_string(x.rank()) + ", wanted 3 or 4";
    if (const int64_t n = heads_of(node, k); n < 1 || (x.rank() == 3 && x.dim(2) % n != 0)) return "input " + std::to_string(k) + " does not divide into " + std::to_string(n) + " heads";
  }
  if (heads_of(node, 1) != heads_of(node, 2) || heads_of(node, 0) % heads_of(node, 1) != 0) return std::to_string(heads_of(node, 0)) + " heads of Q do not share " + std::to_string(heads_of(node, 1)) + " of K";
  if (bool(node.input(kPastKey)) != bool(node.input(kPastValue))) return "one cache is there without the other";
  for (const uint32_t k : {1u, 2u, kPastKey, kPastValue})
    if (node.input(kPastKey) && node.input(k).is_constant()) return "input " + std::to_string(k) + " is a constant beside a cache, on which the tools crash";
  if (!node.output(0)) return "the answer, output 0, is not wanted";
  if (std::string no = wants_constant(node, kLengths, "nonpad_kv_seqlen"); !no.empty()) return no;
  const sdk::Value mask = node.input(kMask);
  if (mask && mask.dtype() != OPTIMA_F32 && mask.dtype() != OPTIMA_BOOL) return "attn_mask is no float and no bool";
  if (mask && (mask.rank() < 1 || mask.rank() > 4)) return "attn_mask has rank " + std::to_string(mask.rank()) + ", wanted 1 to 4";
  const bool hides = mask || node.input(kLengths) || node.integer("is_causal", 0) != 0 || node.integer("left_window_size", -1) >= 0 || node.integer("right_window_size", -1) >= 0;
  return node.output(3) && node.integer("qk_matmul_output_mode", 0) == 2 && hides ? "scores with what is hidden, output 3, hold infinities, which modules have not" : "";
}

constexpr Row kRows[] = {{"Attention", refuses_attention, write_attention}};

}  // namespace of_attention

sdk::Span<const Row> attentions() { return of_attention::kRows; }

}  // namespace bmcompiler_plugin::top
