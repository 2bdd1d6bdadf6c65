// SPDX-License-Identifier: Apache-2.0
// core/onnx_io: what the operators of com.microsoft that transformers are made of are in ONNX operators, by ONNX Runtime's operator pages
// (docs/ContribOperators.md there).
#include <cmath>
#include <optional>

#include "core/onnx_io/contributed_text.hpp"

namespace optima::onnx_io::recipes {
namespace {

/// Whether an input that adds a mask to the scores has a form here, and what adds it to "scores".
struct Added {
  bool known = true;
  Text steps{};               ///< nodes that make the values
  std::vector<Text> values{};  ///< to add to the scores, one after the other
};

/// The mask M, `at`: 1 = seen, by key or by query and key, or how many keys of each sample there are.
void add_mask(const Contributed& n, int at, Added& to) {
  if (!n.has(at)) return;
  const int rank = n.rank(at);
  to.steps += scalar("filter", n.real("mask_filter_value", -10000.0f), "q");
  if (rank == 2 || rank == 3) {
    to.steps += cat(int_list("mask_axes", rank == 2 ? Dims{1, 2} : Dims{1}), "seen_i = Unsqueeze(M, mask_axes) seen = CastLike(seen_i, q) ", scalar("one", 1, "q"),
                    "hidden = Sub(one, seen) mask = Mul(hidden, filter) ");
  } else if (rank == 1) {
    // Two or three numbers a sample mean something else; where only a run knows, it ends there.
    const auto dims = n.dims(at), batch = n.dims(0);
    if (dims && batch && (*dims)[0] >= 0 && (*batch)[0] >= 0 && (*dims)[0] != (*batch)[0]) to.known = false;
    to.steps += cat(int_list("mask_axes", {1, 2, 3}), "samples = Shape <start = 0, end = 1> (q) each_end = Reshape(M, samples) ends = Unsqueeze(each_end, mask_axes) key_shape = Shape <start = 2, end = 3> (k) ",
                    "zero_d = Constant <value_int = 0> () one_d = Constant <value_int = 1> () key_count = Squeeze(key_shape) places_l = Range(zero_d, key_count, one_d) ",
                    "places = CastLike(places_l, M) over = GreaterOrEqual(places, ends) ", scalar("nothing", 0, "q"), "mask = Where(over, filter, nothing) ");
  } else {
    to.known = false;
  }
  to.values.push_back("mask");
}

/// Of a causal operator: what comes after a query is hidden from it; its place is counted from the last key's back.
void add_causal(const Contributed& n, Added& to) {
  if (n.integer("unidirectional", 0) == 0) return;
  to.steps += cat("query_shape = Shape <start = 2, end = 3> (q) all_shape = Shape <start = 2, end = 3> (k) query_count = Squeeze(query_shape) all_count = Squeeze(all_shape) ",
                  "from_d = Constant <value_int = 0> () step_d = Constant <value_int = 1> () query_places = Range(from_d, query_count, step_d) ",
                  "ahead = Sub(all_count, query_count) last_seen = Add(query_places, ahead) all_places = Range(from_d, all_count, step_d) ", int_list("causal_axis", {1}),
                  "last_column = Unsqueeze(last_seen, causal_axis) later = Greater(all_places, last_column) ", scalar("later_filter", n.real("mask_filter_value", -10000.0f), "q"),
                  scalar("later_nothing", 0, "q"), "causal = Where(later, later_filter, later_nothing) ");
  to.values.push_back("causal");
}

void add_bias(const Contributed& n, int at, const Text& name, Added& to) {
  if (n.has(at)) to.values.push_back(name);
}

/// Y of q [batch, heads, length, size], k and v, with what is added to the scores; heads are joined again.
Text attended(double scale, const Added& added) {
  Text out = cat(permuted("kt", "k", {0, 1, 3, 2}), "raw = MatMul(q, kt) ", scalar("factor", scale, "q"), "scores_0 = Mul(raw, factor) ", added.steps);
  size_t k = 0;
  for (const Text& value : added.values) {
    out += cat("scores_", k + 1, " = Add(scores_", k, ", ", value, ") ");
    ++k;
  }
  return cat(out, "p = Softmax <axis = -1> (scores_", k, ") o = MatMul(p, v) ", permuted("ot", "o", {0, 2, 1, 3}), int_list("joined", {0, 0, -1}), "Y = Reshape(ot, joined) }");
}

double scale_of(const Contributed& n, int64_t size) {
  const float given = n.real("scale", 0);
  return given != 0 ? given : 1 / std::sqrt(static_cast<double>(size));
}

/// Attention of one input with joint weights: q, k and v are thirds of qkv = [batch, length, 3 * hidden].
struct Thirds {
  int mask, past, bias;   ///< inputs; -1 = the operator has none
  int64_t hidden;         ///< of all heads
};

/// From qkv on. What went before lies in `past` [2, batch, heads, length, size], and goes on in `present`.
Text attention_body(const Contributed& n, const Thirds& t) {
  const int64_t heads = n.integer("num_heads", 0);
  if (heads < 1 || t.hidden < 1 || t.hidden % heads != 0 || n.integer("do_rotary", 0) != 0) return "";
  Added added;
  add_mask(n, t.mask, added);
  add_causal(n, added);
  if (t.bias >= 0) add_bias(n, t.bias, "bias", added);
  if (!added.known) return "";
  const bool has_past = n.has(t.past);
  Text out = cat("ql, kl, vl = Split <axis = 2, num_outputs = 3> (qkv) ", int_list("by_head", {0, 0, heads, t.hidden / heads}));
  for (const char* each : {"q", "k", "v"}) out += cat(each, "h = Reshape(", each, "l, by_head) ", permuted(has_past && *each != 'q' ? cat(each, "n") : each, cat(each, "h"), {0, 2, 1, 3}));
  if (has_past)
    out += "past_0 = Constant <value_int = 0> () past_1 = Constant <value_int = 1> () kp = Gather <axis = 0> (past, past_0) vp = Gather <axis = 0> (past, past_1) "
           "k = Concat <axis = 2> (kp, kn) v = Concat <axis = 2> (vp, vn) ";
  if (n.has_output(1)) out += cat(int_list("front", {0}), "kf = Unsqueeze(k, front) vf = Unsqueeze(v, front) present = Concat <axis = 0> (kf, vf) ");
  return out + attended(scale_of(n, t.hidden / heads), added);
}

std::optional<int64_t> third_of(const Contributed& n, int weights) {
  const auto dims = n.dims(weights);
  if (!dims || dims->size() != 2 || (*dims)[1] < 3 || (*dims)[1] % 3 != 0) return std::nullopt;
  return (*dims)[1] / 3;
}

/// One of query, key and value of several heads: [batch, length, heads * size] -> [batch, heads, length, size].
Text by_heads(const Text& out, const Text& in, int64_t heads, int64_t size) {
  return cat(int_list(out + "_split", {0, 0, heads, size}), out, "_h = Reshape(", in, ", ", out, "_split) ", permuted(out, out + "_h", {0, 2, 1, 3}));
}

/// mean = ReduceMean of `in` over its last axes, whatever the opset.
Text mean_text(const Contributed& n, const Text& out, const Text& in, const Dims& axes) {
  if (n.opset() < 18) return cat(out, " = ReduceMean <axes = ", list(axes), ", keepdims = 1> (", in, ") ");
  return cat(int_list(out + "_axes", axes), out, " = ReduceMean(", in, ", ", out, "_axes) ");
}

/// root = the square root of `variance` and epsilon; empty where the opset has no word for the type.
Text root_text(const Contributed& n) {
  const double epsilon = n.real("epsilon", 1e-5f);
  if (n.opset() < 15 && n.dtype(0) != kF32) return "";
  const Text small = n.opset() < 15 ? cat("small = Constant <value = float {", number(epsilon), "}> () ") : scalar("small", epsilon, "variance");
  return cat(small, "shifted = Add(variance, small) root = Sqrt(shifted) ");
}

std::optional<Dims> normalized_axes(const Contributed& n) {
  const int64_t rank = n.rank(0), given = n.integer("axis", -1), first = given < 0 ? given + rank : given;
  if (rank < 1 || first < 0 || first >= rank) return std::nullopt;
  Dims axes;
  for (int64_t k = first; k < rank; ++k) axes.push_back(k);
  return axes;
}

Text skip_sum(const Contributed& n, int bias, int sum_out) {
  const Text sum = n.has_output(sum_out) ? "sum" : "s";
  return n.has(bias) ? cat("both = Add(X, skip) ", sum, " = Add(both, bias) ") : cat(sum, " = Add(X, skip) ");
}
}  // namespace

Text turned_text(const Text& out, const Text& in, const Text& cos, const Text& sin, int64_t size, int64_t turned, bool neighbours) {
  const auto own = [&](const char* name) { return cat(out, "_", name); };
  const bool whole = turned == size;
  Text r = in, text;
  if (!whole) {
    r = own("r");
    text += cat(int_list(own("sizes"), {turned, size - turned}), r, ", ", own("rest"), " = Split <axis = 3> (", in, ", ", own("sizes"), ") ");
  }
  if (neighbours)
    text += cat(int_list(own("pairs"), {0, 0, 0, turned / 2, 2}), own("rp"), " = Reshape(", r, ", ", own("pairs"), ") ", own("a_1"), ", ", own("b_1"), " = Split <axis = 4, num_outputs = 2> (", own("rp"), ") ",
                int_list(own("axis"), {4}), own("a"), " = Squeeze(", own("a_1"), ", ", own("axis"), ") ", own("b"), " = Squeeze(", own("b_1"), ", ", own("axis"), ") ");
  else text += cat(own("a"), ", ", own("b"), " = Split <axis = 3, num_outputs = 2> (", r, ") ");
  text += cat(own("ac"), " = Mul(", own("a"), ", ", cos, ") ", own("bs"), " = Mul(", own("b"), ", ", sin, ") ", own("ya"), " = Sub(", own("ac"), ", ", own("bs"), ") ");
  text += cat(own("as"), " = Mul(", own("a"), ", ", sin, ") ", own("bc"), " = Mul(", own("b"), ", ", cos, ") ", own("yb"), " = Add(", own("as"), ", ", own("bc"), ") ");
  const Text t = whole ? out : own("t");
  if (neighbours)
    text += cat(own("ya_1"), " = Unsqueeze(", own("ya"), ", ", own("axis"), ") ", own("yb_1"), " = Unsqueeze(", own("yb"), ", ", own("axis"), ") ", own("yp"), " = Concat <axis = 4> (", own("ya_1"), ", ", own("yb_1"), ") ",
                int_list(own("flat"), {0, 0, 0, turned}), t, " = Reshape(", own("yp"), ", ", own("flat"), ") ");
  else text += cat(t, " = Concat <axis = 3> (", own("ya"), ", ", own("yb"), ") ");
  return whole ? text : cat(text, out, " = Concat <axis = 3> (", t, ", ", own("rest"), ") ");
}

Text attention(Contributed& n) {
  const auto hidden = third_of(n, 1);
  if (!hidden || !n.integers("qkv_hidden_sizes").empty() || n.has(6)) return "";
  const Text body = attention_body(n, {3, 4, 5, *hidden});
  if (body.empty()) return "";
  return cat("(X, W, B, M, past, bias, past_len) => (Y, present) { ", n.has(2) ? "product = MatMul(X, W) qkv = Add(product, B) " : "qkv = MatMul(X, W) ", body);
}

Text q_attention(Contributed& n) {
  const auto hidden = third_of(n, 1);
  if (!hidden) return "";
  const Text body = attention_body(n, {5, 8, -1, *hidden});
  if (body.empty()) return "";
  return cat("(X, W, B, Xs, Ws, M, Xz, Wz, past) => (Y, present) { x = DequantizeLinear(X, Xs, Xz) w = DequantizeLinear ", one_element(n, 4) ? "" : "<axis = 1> ",
             "(W, Ws, Wz) product = MatMul(x, w) qkv = Add(product, B) ", body);
}

/// Query, key and value apart, each [batch, length, hidden], or key and value by heads already; all of one input in other packings are not known here.
Text multi_head_attention(Contributed& n) {
  enum { kQuery, kKey, kValue, kBias, kMask, kScores, kPastKey, kPastValue, kPastLength, kBeams };
  const int64_t heads = n.integer("num_heads", 0);
  const auto q = n.dims(kQuery), v = n.dims(kValue);
  const int key_rank = n.rank(kKey);
  if (heads < 1 || !q || q->size() != 3 || !v || (key_rank != 3 && key_rank != 4) || static_cast<int>(v->size()) != key_rank || n.has(kPastLength) || n.has(kBeams) || n.has_output(3))
    return "";
  const int64_t hidden = (*q)[2], hidden_v = key_rank == 3 ? (*v)[2] : heads * (*v)[3];
  if (hidden < 1 || hidden % heads != 0 || hidden_v < 1 || hidden_v % heads != 0 || (n.has(kBias) && key_rank == 4) || n.has(kPastKey) != n.has(kPastValue)) return "";
  Added added;
  add_mask(n, kMask, added);
  add_causal(n, added);
  add_bias(n, kScores, "bias", added);
  if (!added.known) return "";
  Text out = "(Q, K, V, B, M, bias, past_key, past_value, past_len, beams) => (Y, present_key, present_value, scores) { ", ends[] = {"Q", "K", "V"};
  if (n.has(kBias)) {
    out += cat(int_list("bias_sizes", {hidden, hidden, hidden_v}), "Bq, Bk, Bv = Split <axis = 0> (B, bias_sizes) Qb = Add(Q, Bq) Kb = Add(K, Bk) Vb = Add(V, Bv) ");
    for (Text& end : ends) end += "b";
  }
  out += by_heads("q", ends[0], heads, hidden / heads);
  // The keys that are seen: those that went before, and these.
  const auto seen = [&](const Text& name, const Text& from, const Text& past, int past_at, int out_at, const Text& present, int64_t size) {
    Text own = name;
    if (n.has(past_at) || n.has_output(out_at)) own += "_own";
    out += key_rank == 3 ? by_heads(own, from, heads, size) : cat(own, " = Identity(", from, ") ");
    if (own == name) return;
    const Text all = n.has_output(out_at) ? present : name;
    out += n.has(past_at) ? cat(all, " = Concat <axis = 2> (", past, ", ", own, ") ") : cat(all, " = Identity(", own, ") ");
    if (all != name) out += cat(name, " = Identity(", all, ") ");
  };
  seen("k", ends[1], "past_key", kPastKey, 1, "present_key", hidden / heads);
  seen("v", ends[2], "past_value", kPastValue, 2, "present_value", hidden_v / heads);
  return out + attended(scale_of(n, hidden / heads), added);
}

/// Halves (or neighbours) of each head turned by the angle of its place.
Text rotary_embedding(Contributed& n) {
  enum { kX, kPlaces, kCos, kSin };
  const auto x = n.dims(kX), cache = n.dims(kCos);
  const int places = n.rank(kPlaces);
  if (!x || (x->size() != 3 && x->size() != 4) || !cache || cache->size() != 2 || (*cache)[1] < 1 || (places != 1 && places != 2)) return "";
  if (n.real("scale", 1) != 1 || n.integer("is_packed_batching", 0) != 0) return "";
  const bool joined = x->size() == 3, neighbours = n.integer("interleaved", 0) != 0;
  const int64_t turned = 2 * (*cache)[1], hidden = x->back(), given = n.integer("num_heads", 0);
  if (hidden < 1 || (joined && given > 0 && hidden % given != 0)) return "";
  const int64_t size = !joined ? hidden : given > 0 ? hidden / given : turned;
  if (turned > size || (joined && hidden % size != 0)) return "";
  Text out = "(X, P, C, S) => (Y) { ";
  out += joined ? cat(int_list("by_head", {0, 0, hidden / size, size}), "x = Reshape(X, by_head) ") : Text("x = Identity(X) ");
  if (places == 2) {
    out += "c = Gather <axis = 0> (C, P) s = Gather <axis = 0> (S, P) ";
  } else {  // the place of the first
    out += cat("length_1 = Shape <start = ", joined ? 1 : 2, ", end = ", joined ? 2 : 3,
               "> (X) length = Squeeze(length_1) from = Constant <value_int = 0> () step = Constant <value_int = 1> () run = Range(from, length, step) "
               "first = Cast <to = 7> (P) at = Add(run, first) c_1 = Gather <axis = 0> (C, at) s_1 = Gather <axis = 0> (S, at) ",
               int_list("batch_axis", {0}), "c = Unsqueeze(c_1, batch_axis) s = Unsqueeze(s_1, batch_axis) ");
  }
  out += cat(int_list("head_axis", {joined ? 2 : 1}), "cos = Unsqueeze(c, head_axis) sin = Unsqueeze(s, head_axis) ");
  out += turned_text("y", "x", "cos", "sin", size, turned, neighbours);
  return out + (joined ? cat(int_list("together", {0, 0, hidden}), "Y = Reshape(y, together) }") : Text("Y = Identity(y) }"));
}

namespace {

/// bias_5 = what is added to the scores [batch, groups, heads of each, queries, keys], out of "bias" [batch or 1, heads or 1, queries, total]; keys behind
/// the total, which a cache that is longer has, are seen by no query.
Text grouped_bias(const Contributed& n, int at, int64_t heads, int64_t groups) {
  const auto dims = n.dims(at);
  if (!dims || dims->size() != 4 || ((*dims)[1] != 1 && (*dims)[1] != heads)) return "";
  Text out = "key_count_1 = Shape <start = 2, end = 3> (present_key) bias_count = Shape <start = 3, end = 4> (bias) more = Sub(key_count_1, bias_count) ";
  out += cat(int_list("last_axis", {3}), int_list("nothing_ahead", {0}), "pads = Concat <axis = 0> (nothing_ahead, more) bias_all = Pad(bias, pads, , last_axis) ");
  if ((*dims)[1] == 1) return out + "bias_5 = Unsqueeze(bias_all, axis_1) ";
  return out + cat("bias_ahead = Shape <start = 0, end = 1> (bias_all) bias_behind = Shape <start = 2, end = 4> (bias_all) ", int_list("bias_heads", {groups, heads / groups}),
                   "bias_shape = Concat <axis = 0> (bias_ahead, bias_heads, bias_behind) bias_5 = Reshape(bias_all, bias_shape) ");
}

/// p = the softmax of "seen" [batch, groups, heads of each, queries, keys]; its sum has one more summand, that of the head's "sink", or of 0, where the
/// operator has one.
Text softmax_text(const Contributed& n, int sink_at, int64_t groups, int64_t each) {
  if (!n.has(sink_at) && n.integer("smooth_softmax", 0) <= 0) return "p = Softmax <axis = -1> (seen) ";
  Text out = n.has(sink_at) ? cat(int_list("sink_shape", {1, groups, each, 1, 1}), "sink_5 = Reshape(sink, sink_shape) ") : scalar("sink_5", 0, "seen");
  out += cat("rows = Shape <start = 0, end = 4> (seen) ", int_list("single", {1}), "column = Concat <axis = 0> (rows, single) sink_all = Expand(sink_5, column) wider = Concat <axis = -1> (seen, sink_all) ");
  return out + cat("p_all = Softmax <axis = -1> (wider) ", int_list("p_from", {0}), int_list("p_to", {-1}), int_list("p_axis", {4}), "p = Slice(p_all, p_from, p_to, p_axis) ");
}

/// A cache of one window [batch, groups, capacity, size], which holds the last keys of each sample, rows [0, L) of it: L(T) of T tokens follows from T alone (the operator's page, "Windowed
/// KV Cache"). positions [batch, rows of the cache and new ones] and is_stale, those that hold none; index [batch, capacity], where each row of the present one lies among them. A cache of less than
/// the window is an error of the run: a tensor of less than no elements.
Text windowed_cache(int64_t window) {
  const auto rows_of = [](const Text& name, const Text& tokens) {
    return cat(name, "_a = Sub(", tokens, ", capacity) ", name, "_b = Add(", name, "_a, slack) ", name, "_c = Div(", name, "_b, stride) ", name, "_d = Max(", name, "_c, zero) ", name, "_e = Mul(", name, "_d, stride) ",
               name, " = Sub(", tokens, ", ", name, "_e) ", name, "_from = Sub(", tokens, ", ", name, ") ");
  };
  return cat("capacity_1 = Shape <start = 2, end = 3> (past_key) capacity = Squeeze(capacity_1) width = Constant <value_int = ", window, "> () slack_1 = Sub(capacity_1, width) slack_zeros = ConstantOfShape <value = int64[1] {0}> (slack_1) slack_sum = ReduceSum(slack_zeros) slack_all = Add(slack_sum, slack_1) slack = Squeeze(slack_all) ",
             "stride = Add(slack, one) ends_2 = Unsqueeze(ends, axis_1) ", rows_of("held", "before"), rows_of("holds", "ends_2"),
             "row_count = Add(capacity, length) rows = Range(zero, row_count, one) is_new = GreaterOrEqual(rows, capacity) is_old = Not(is_new) behind = Sub(rows, capacity) new_place = Add(before, behind) ",
             "old_place = Add(held_from, rows) positions = Where(is_new, new_place, old_place) is_beyond = GreaterOrEqual(rows, held) is_stale = And(is_beyond, is_old) ",
             "places = Range(zero, capacity, one) wanted = Add(holds_from, places) own_end = Identity(holds) from_new = GreaterOrEqual(wanted, before) new_row_0 = Sub(wanted, before) new_row = Add(new_row_0, capacity) ",
             "old_row = Sub(wanted, held_from) found = Where(from_new, new_row, old_row) most = Sub(row_count, one) index = Min(found, most) ");
}

/// Of past and present keys side by side those that each sample has, in order: an index past the new keys is no key of anybody.
Text growing_cache() {
  return "total_l = Cast <to = 7> (total) total_0 = Squeeze(total_l) past_1 = Shape <start = 2, end = 3> (past_key) past_count = Squeeze(past_1) count = Max(total_0, past_count) places = Range(zero, count, one) own_place = Sub(places, before) "
         "moved = Add(own_place, past_count) is_past = Less(places, before) found = Where(is_past, places, moved) most_1 = Add(past_count, length) most = Sub(most_1, one) index = Min(found, most) "
         "own_end = Add(before, length) ";
}

/// row_index [batch, groups, keys], where each present key lies among the rows of all heads: [batch * groups * (those that "index" counts and one of zeros), size]. Zeros stand behind the
/// keys that a sample has.
Text rows_of_heads(int64_t groups, int64_t size) {
  Dims heads;
  for (int64_t g = 0; g < groups; ++g) heads.push_back(g);
  return cat("has_key = Less(places, own_end) blank_at = Add(most, one) row_of_head = Where(has_key, index, blank_at) row_3 = Unsqueeze(row_of_head, axis_1) rows_each = Add(blank_at, one) "
             "batch_1 = Shape <start = 0, end = 1> (Q) batch = Squeeze(batch_1) samples = Range(zero, batch, one) head_count = Constant <value_int = ", groups, "> () first_heads = Mul(samples, head_count) "
             "first_heads_2 = Unsqueeze(first_heads, axis_1) ", int_list("head_places", heads), "head_at = Add(first_heads_2, head_places) head_rows = Mul(head_at, rows_each) head_rows_3 = Unsqueeze(head_rows, axis_2) "
             "row_index = Add(head_rows_3, row_3) ", int_list("blank_rest", {groups, 1, size}), "blank_shape = Concat <axis = 0> (batch_1, blank_rest) blank_f = ConstantOfShape(blank_shape) blank = CastLike(blank_f, Q) ",
             int_list("row_shape", {-1, size}));
}

/// hidden [batch, queries or 1, keys]: which keys a query does not see, by their "places" and the queries' own, "at".
Text hidden_text(const Contributed& n, bool windowed) {
  const int64_t window = n.integer("local_window_size", -1);
  const Text keys = windowed ? "key_places" : "places";
  Text out = windowed ? Text("key_places = Unsqueeze(positions, axis_1) last = Unsqueeze(at, axis_2) ") : Text("last = Unsqueeze(at, axis_2) "), hidden = "after";
  if (n.integer("causal", 1) != 0) out += cat("after = Greater(", keys, ", last) ");
  else out += cat("ends_c = Unsqueeze(ends, axis_1) ends_3 = Unsqueeze(ends_c, axis_2) after = GreaterOrEqual(", keys, ", ends_3) ");
  if (window > 0) {  // so many keys, its own among them
    out += cat("window = Constant <value_int = ", window - 1, "> () first = Sub(last, window) far = Less(", keys, ", first) outside = Or(after, far) ");
    hidden = "outside";
  }
  if (!windowed) return cat(out, "hidden_3 = Identity(", hidden, ") ");
  return cat(out, "stale = Unsqueeze(is_stale, axis_1) hidden_3 = Or(", hidden, ", stale) ");
}

}  // namespace

/// Queries of several heads on each head of keys and values, which go on in a cache: each sample's own length of it is seqlens_k + 1, the present
/// length included. What lies behind that length in the past is left out, and may lie behind the new keys.
Text group_query_attention(Contributed& n) {
  enum { kQuery, kKey, kValue, kPastKey, kPastValue, kLengths, kTotal, kCos, kSin, kPlaces, kScores, kSink, kCacheOfCodes };
  for (int k = kCacheOfCodes; k < n.inputs(); ++k)
    if (n.has(k)) return "";
  const int64_t heads = n.integer("num_heads", 0), groups = n.integer("kv_num_heads", 0), window = n.integer("local_window_size", -1);
  const auto q = n.dims(kQuery), cache = n.dims(kCos);
  const bool packed = !n.has(kKey), rotary = n.integer("do_rotary", 0) != 0, windowed = n.integer("sliding_window_cache", 0) != 0;
  if (windowed && window < 1) return n.refuse(cat("attribute sliding_window_cache is given and local_window_size is ", window, ", wanted 1 or more"));
  if (windowed && !n.has(kPastKey)) return n.refuse("attribute sliding_window_cache is given, wanted input 3 (past_key) with it");
  if (windowed && n.has(kScores)) return n.refuse("attribute sliding_window_cache is given with input 10 (attention_bias), wanted one of them: ONNX operators restate no window of added scores");
  if (const auto past = n.dims(kPastKey); windowed && past && past->size() == 4 && (*past)[2] >= 0 && (*past)[2] < window)
    return n.refuse(cat("input 3 (past_key) is ", list(*past), ", wanted a cache of ", window, " keys or more, as local_window_size says"));
  if (heads < 1 || groups < 1 || heads % groups != 0 || !q || q->size() != 3 || n.has(kKey) != n.has(kValue) || n.has(kPastKey) != n.has(kPastValue)) return "";
  if (n.has_output(3) || (rotary && (!cache || cache->size() != 2 || !n.has(kSin)))) return "";
  const int64_t all = packed ? heads + 2 * groups : heads, size = (*q)[2] / all;
  if (size < 1 || (*q)[2] % all != 0 || (rotary && 2 * (*cache)[1] > size)) return "";
  Text out = "(Q, K, V, past_key, past_value, lengths, total, C, S, P, bias, sink, ks, vs, qn, kn) => (Y, present_key, present_value, scores) { zero = Constant <value_int = 0> () one = Constant <value_int = 1> () ";
  out += cat(int_list("axis_1", {1}), int_list("axis_2", {2}));
  out += "length_1 = Shape <start = 1, end = 2> (Q) length = Squeeze(length_1) ends_l = Cast <to = 7> (lengths) ends = Add(ends_l, one) before_raw = Sub(ends, length) before_row = Max(before_raw, zero) "
         "before = Unsqueeze(before_row, axis_1) run = Range(zero, length, one) at = Add(before, run) ";
  if (packed) out += cat(int_list("thirds", {heads * size, groups * size, groups * size}), "q_in, k_in, v_in = Split <axis = 2> (Q, thirds) ");
  const auto split = [&](const Text& name, const Text& from, int64_t count) { return cat(int_list(name + "_heads", {0, 0, count, size}), name, "_4 = Reshape(", from, ", ", name, "_heads) "); };
  out += split("q", packed ? "q_in" : "Q", heads) + split("k", packed ? "k_in" : "K", groups) + split("v", packed ? "v_in" : "V", groups);
  Text turned_q = "q_4", turned_k = "k_4";
  if (rotary) {
    const Text places = n.has(kPlaces) ? "P" : "at";
    out += cat("c = Gather <axis = 0> (C, ", places, ") s = Gather <axis = 0> (S, ", places, ") cos = Unsqueeze(c, axis_2) sin = Unsqueeze(s, axis_2) ");
    const bool neighbours = n.integer("rotary_interleaved", 0) != 0;
    out += turned_text("q_t", "q_4", "cos", "sin", size, 2 * (*cache)[1], neighbours) + turned_text("k_t", "k_4", "cos", "sin", size, 2 * (*cache)[1], neighbours);
    turned_q = "q_t", turned_k = "k_t";
  }
  out += permuted("k_own", turned_k, {0, 2, 1, 3}) + permuted("v_own", "v_4", {0, 2, 1, 3});
  if (n.has(kPastKey)) {
    out += windowed ? windowed_cache(window) : growing_cache();
    const bool single = (*q)[0] == 1;
    if (single) out += cat(int_list("axis_0", {0}), "index_row = Squeeze(index, axis_0) ");
    else out += rows_of_heads(groups, size);
    for (const char* each : {"k", "v"}) {
      const Text e = each, past = e == "k" ? "past_key" : "past_value", name = e == "k" ? "present_key" : "present_value", both = cat(e, "_both");
      if (single || windowed) out += cat(both, " = Concat <axis = 2> (", past, ", ", e, "_own) ");
      if (single) out += cat(name, " = Gather <axis = 2> (", both, ", index_row) ");
      else out += cat(e, "_more = Concat <axis = 2> (", windowed ? both : cat(past, ", ", e, "_own"), ", blank) ", e, "_rows = Reshape(", e, "_more, row_shape) ", name, " = Gather <axis = 0> (", e, "_rows, row_index) ");
    }
  } else {
    out += "places = Range(zero, length, one) present_key = Identity(k_own) present_value = Identity(v_own) ";
  }
  const Text keys = windowed ? "k_both" : "present_key", values = windowed ? "v_both" : "present_value";
  // Queries of a group side by side.
  out += cat(permuted("q_own", turned_q, {0, 2, 1, 3}), int_list("grouped", {0, groups, heads / groups, -1, size}), "q5 = Reshape(q_own, grouped) k5 = Unsqueeze(", keys, ", axis_2) v5 = Unsqueeze(", values, ", axis_2) ",
             permuted("kt", "k5", {0, 1, 2, 4, 3}), "raw = MatMul(q5, kt) ", scalar("factor", scale_of(n, size), "Q"), "scaled = Mul(raw, factor) ");
  Text scores_name = "scaled";
  if (const float cap = n.real("softcap", 0); cap > 0) {
    out += cat(scalar("cap", cap, "Q"), "divided = Div(scaled, cap) bent = Tanh(divided) capped = Mul(bent, cap) ");
    scores_name = "capped";
  }
  if (n.has(kScores)) {
    const Text bias = grouped_bias(n, kScores, heads, groups);
    if (bias.empty()) return "";
    out += cat(bias, "biased = Add(", scores_name, ", bias_5) ");
    scores_name = "biased";
  }
  out += hidden_text(n, windowed);
  out += cat(int_list("head_axes", {1, 2}), "hidden = Unsqueeze(hidden_3, head_axes) ", scalar("nothing", -1e30, "Q"), "seen = Where(hidden, nothing, ", scores_name, ") ", softmax_text(n, kSink, groups, heads / groups), "o5 = MatMul(p, v5) ",
             int_list("by_head", {0, heads, -1, size}), "o = Reshape(o5, by_head) ", permuted("ot", "o", {0, 2, 1, 3}), int_list("joined", {0, 0, heads * size}), "Y = Reshape(ot, joined) }");
  return out;
}

Text embed_layer_normalization(Contributed& n) {
  enum { kIds, kSegments, kWords, kPositions, kSegmentRows, kGamma, kBeta, kMask, kPlaces };
  if (!n.has(kWords) || !n.has(kPositions) || !n.has(kGamma) || !n.has(kBeta) || n.has(kSegments) != n.has(kSegmentRows) || n.integer("mask_index_type", 1) != 1) return "";
  Text out = "(ids, segments, words, positions, segment_rows, gamma, beta, M, places) => (Y, mask_index, sum) { w = Gather <axis = 0> (words, ids) ";
  if (!n.has(kPlaces))
    out += "length_1 = Shape <start = 1, end = 2> (ids) length = Squeeze(length_1) from = Constant <value_int = 0> () step = Constant <value_int = 1> () "
           "run = Range(from, length, step) ";
  const Text last = n.has_output(2) ? "sum" : "s", both = n.has(kSegments) ? "both" : last;
  out += cat("p = Gather <axis = 0> (positions, ", n.has(kPlaces) ? "places" : "run", ") ", both, " = Add(w, p) ");
  if (n.has(kSegments)) out += cat("g = Gather <axis = 0> (segment_rows, segments) ", last, " = Add(both, g) ");
  if (n.has_output(1) && n.has(kMask)) out += cat(int_list("mask_axis", {1}), "mask_index = ReduceSum <keepdims = 0> (M, mask_axis) ");
  else if (n.has_output(1)) out += "batch = Shape <start = 0, end = 1> (ids) mask_index = ConstantOfShape <value = int32[1] {0}> (batch) ";
  return cat(out, "Y = LayerNormalization <axis = -1, epsilon = ", number(n.real("epsilon", 1e-12f)), "> (", last, ", gamma, beta) }");
}

/// The same out of codes: tables, factors and offsets have a scale and a zero point each.
Text q_embed_layer_normalization(Contributed& n) {
  enum { kIds, kSegments, kWords, kPositions, kSegmentRows, kGamma, kBeta, kMask };
  const bool has_segments = n.has(kSegments);
  if (!n.has(kWords) || !n.has(kPositions) || !n.has(kGamma) || !n.has(kBeta) || has_segments != n.has(kSegmentRows)) return "";
  Text out = "(ids, segments, words, positions, segment_rows, gamma, beta, M, ws, ps, ss, gs, bs, wz, pz, sz, gz, bz) => (Y, mask_index) { "
             "length_1 = Shape <start = 1, end = 2> (ids) length = Squeeze(length_1) from = Constant <value_int = 0> () step = Constant <value_int = 1> () run = Range(from, length, step) "
             "wq = Gather <axis = 0> (words, ids) w = DequantizeLinear(wq, ws, wz) pq = Gather <axis = 0> (positions, run) p = DequantizeLinear(pq, ps, pz) ";
  out += has_segments ? "both = Add(w, p) gq = Gather <axis = 0> (segment_rows, segments) g = DequantizeLinear(gq, ss, sz) s = Add(both, g) " : "s = Add(w, p) ";
  if (n.has_output(1) && n.has(kMask)) out += cat(int_list("mask_axis", {1}), "mask_index = ReduceSum <keepdims = 0> (M, mask_axis) ");
  else if (n.has_output(1)) out += "batch = Shape <start = 0, end = 1> (ids) mask_index = ConstantOfShape <value = int32[1] {0}> (batch) ";
  return cat(out, "gf = DequantizeLinear(gamma, gs, gz) bf = DequantizeLinear(beta, bs, bz) Y = LayerNormalization <axis = -1, epsilon = ", number(n.real("epsilon", 1e-12f)), "> (s, gf, bf) }");
}

/// Before opset 17 ONNX has no such operator, and ONNX Runtime's optimizer writes it all the same.
Text layer_normalization(Contributed& n) {
  if (n.opset() >= 17) {  // a result that nobody reads is not asked for: some backends make the first one alone
    const Text results = n.has_output(2) ? "Y, mean, inverse" : n.has_output(1) ? "Y, mean" : "Y";
    return cat("(X, g, b) => (Y, mean, inverse) { ", results, " = LayerNormalization <axis: int = @axis, epsilon: float = @epsilon, stash_type: int = @stash_type> (X, g, b) }");
  }
  const auto axes = normalized_axes(n);
  const Text root = root_text(n);
  if (!axes || root.empty()) return "";
  return cat("(X, g, b) => (Y, mean, inverse) { ", mean_text(n, "mean", "X", *axes), "d = Sub(X, mean) square = Mul(d, d) ", mean_text(n, "variance", "square", *axes), root,
             n.has_output(2) ? "inverse = Reciprocal(root) " : "", "even = Div(d, root) ", n.has(2) ? "scaled = Mul(even, g) Y = Add(scaled, b) }" : "Y = Mul(even, g) }");
}

Text simplified_layer_normalization(Contributed& n) {
  const auto axes = normalized_axes(n);
  const Text root = root_text(n);
  if (!axes || root.empty()) return "";
  return cat("(X, g) => (Y, inverse) { square = Mul(X, X) ", mean_text(n, "variance", "square", *axes), root, n.has_output(1) ? "inverse = Reciprocal(root) " : "",
             "even = Div(X, root) Y = Mul(even, g) }");
}

Text skip_layer_normalization(Contributed& n) {
  if (n.has_output(1) || n.has_output(2)) return "";
  return cat("(X, skip, gamma, beta, bias) => (Y, mean, inverse, sum) { ", skip_sum(n, 4, 3), "Y = LayerNormalization <axis = -1, epsilon = ",
             number(n.real("epsilon", 1e-12f)), "> (", n.has_output(3) ? "sum" : "s", ", gamma", n.has(3) ? ", beta) }" : ") }");
}
Text skip_simplified_layer_normalization(Contributed& n) {
  if (n.has_output(1) || n.has_output(2)) return "";
  const Text x = n.has_output(3) ? "sum" : "s";
  return cat("(X, skip, gamma, bias) => (Y, mean, inverse, sum) { ", skip_sum(n, 3, 3), "square = Mul(", x, ", ", x, ") ", int_list("last", {-1}),
             "mean_square = ReduceMean(square, last) ", scalar("epsilon", n.real("epsilon", 1e-12f), "X"), "shifted = Add(mean_square, epsilon) root = Sqrt(shifted) ",
             "normal = Div(", x, ", root) Y = Mul(normal, gamma) }");
}

}  // namespace optima::onnx_io::recipes
