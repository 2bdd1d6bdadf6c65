// SPDX-License-Identifier: Apache-2.0
// core/onnx_io: what operators of com.microsoft that newer language models are made of are in ONNX operators, by ONNX Runtime's operator pages
// (docs/ContribOperators.md there).
#include <algorithm>

#include "core/onnx_io/contributed_text.hpp"

namespace optima::onnx_io::recipes {
namespace {

/// even = x over the root of the mean of its squares in the last axis.
Text even_text(const Contributed& n) {
  return cat(int_list("last_axis", {-1}), "square = Mul(x, x) mean = ReduceMean <keepdims = 1> (square, last_axis) ", scalar("small", n.real("epsilon", 1e-5f), "x"),
             "shifted = Add(mean, small) root = Sqrt(shifted) even = Div(x, root) ");
}

}  // namespace

/// Each branch by itself: X [..., branches, size], or [..., branches * size] where the node says how many there are.
Text branchwise_rms_norm(Contributed& n) {
  const int64_t branches = n.integer("num_branches", 0);
  const int rank = n.rank(0);
  if (rank < (branches > 0 ? 1 : 2) || branches < 0) return "";
  Dims apart(static_cast<size_t>(rank - 1), 0);
  apart.push_back(branches), apart.push_back(-1);
  Text out = cat("(X, scale) => (Y) { ", branches > 0 ? cat(int_list("apart", apart), "x = Reshape(X, apart) ") : Text("x = Identity(X) "), even_text(n));
  if (n.has(1))  // by element of a branch, or of all
    out += cat("size = Shape <start = -1> (x) ", int_list("any", {-1}), "by_branch = Concat <axis = 0> (any, size) factors = Reshape(scale, by_branch) scaled = Mul(even, factors) ");
  return cat(out, "shape = Shape(X) Y = Reshape(", n.has(1) ? "scaled" : "even", ", shape) }");
}

/// Groups of as many elements as there are factors, times what the gate lets through.
Text gated_rms_norm(Contributed& n) {
  const auto scales = n.dims(1);
  const Text kind = n.text("activation", "silu");
  if (!scales || scales->size() != 1 || (*scales)[0] < 1) return "";
  if (kind != "silu" && kind != "swish" && kind != "sigmoid") return "";
  Text out = cat("(X, scale, gate) => (Y) { ", int_list("groups", {-1, (*scales)[0]}), "x = Reshape(X, groups) ", even_text(n),
                 "scaled = Mul(even, scale) shape = Shape(X) together = Reshape(scaled, shape) open = Sigmoid(gate) ");
  if (kind == "sigmoid") return out + "Y = Mul(together, open) }";
  return out + "through = Mul(gate, open) Y = Mul(together, through) }";
}

/// A convolution of each channel with what went before it, of which the last places are the state that goes on.
Text causal_conv_with_state(Contributed& n) {
  enum { kX, kW, kB, kPast };
  const auto x = n.dims(kX), w = n.dims(kW);
  const int64_t dilation = n.integer("dilation", 1);
  const Text kind = n.text("activation", "none");
  if (!x || x->size() != 3 || !w || w->size() != 3 || (*w)[0] < 1 || (*w)[1] != 1 || (*w)[2] < 1 || dilation < 1 || n.integer("ndim", 1) != 1 || n.integer("state_window", 0) != 0) return "";
  if (n.integer("channels_last", 0) != 0 || (kind != "none" && kind != "silu" && kind != "swish" && !kind.empty())) return "";
  const int64_t state = ((*w)[2] - 1) * dilation;
  const bool is_active = kind == "silu" || kind == "swish";
  Text out = "(X, W, B, past) => (Y, present) { ";
  if (n.has(kPast)) out += "all = Concat <axis = 2> (past, X) ";
  else out += cat(int_list("pads", {0, 0, state, 0, 0, 0}), "all = Pad(X, pads) ");
  out += cat(is_active ? "c" : "Y", " = Conv <group = ", (*w)[0], ", dilations = [", dilation, "]> (all, W", n.has(kB) ? ", B) " : ") ");
  if (is_active) out += "open = Sigmoid(c) Y = Mul(c, open) ";
  if (n.has_output(1))
    out += cat("count = Shape <start = 2, end = 3> (all) ", int_list("state", {state}), int_list("axis", {2}), "from = Sub(count, state) present = Slice(all, from, count, axis) ");
  return out + "}";
}

/// Heads turned by three angles, each in its section of the pairs: places P [3, batch, length] in time, height and width.
Text m_rotary_embedding(Contributed& n) {
  const auto x = n.dims(0), cache = n.dims(2);
  const Dims sections = n.integers("mrope_section");
  const int64_t layout = n.integer("mrope_layout", 0), heads = n.integer("num_heads", 0);
  if (!x || (x->size() != 3 && x->size() != 4) || !cache || cache->size() != 2 || (*cache)[1] < 1 || sections.size() != 3 || n.rank(1) != 3 || (layout != 0 && layout != 1)) return "";
  if (n.real("scale", 1) != 1 || n.integer("is_packed_batching", 0) != 0) return "";
  const int64_t half = (*cache)[1], hidden = x->back(), given = n.integer("rotary_embedding_dim", 0);
  if (sections[0] < 0 || sections[1] < 0 || sections[2] < 0 || sections[0] + sections[1] + sections[2] != half) return "";
  const bool joined = x->size() == 3;
  if (hidden < 1 || (joined && heads > 0 && hidden % heads != 0) || (given > 0 && given != 2 * half)) return "";
  const int64_t size = !joined ? hidden : heads > 0 ? hidden / heads : 2 * half;
  if (2 * half > size || (joined && hidden % size != 0)) return "";
  Dims stream(static_cast<size_t>(half), 0);  // whose place turns each pair
  for (int64_t k = 0; k < half; ++k) {
    if (layout == 0) stream[static_cast<size_t>(k)] = k < sections[0] ? 0 : k < sections[0] + sections[1] ? 1 : 2;
    else if (k % 3 != 0 && k < 3 * sections[static_cast<size_t>(k % 3)]) stream[static_cast<size_t>(k)] = k % 3;
  }
  // Rows [3, batch, length, pairs] of the table, then by pair [1, batch, length, pairs] the one of its stream.
  Text out = cat("(X, P, C, S) => (Y) { ", joined ? cat(int_list("by_head", {0, 0, hidden / size, size}), "x = Reshape(X, by_head) ") : Text("x = Identity(X) "), int_list("streams", stream),
                 int_list("own", {1, 1, 1, half}), "stream_1 = Reshape(streams, own) p_shape = Shape <start = 1, end = 3> (P) ", int_list("ahead", {1}), int_list("behind", {half}),
                 "wide = Concat <axis = 0> (ahead, p_shape, behind) stream = Expand(stream_1, wide) ", int_list("axis_0", {0}), int_list("head_axis", {joined ? 2 : 1}));
  for (const auto& [name, table] : {std::pair{"cos", "C"}, std::pair{"sin", "S"}})
    out += cat(name, "_all = Gather <axis = 0> (", table, ", P) ", name, "_1 = GatherElements <axis = 0> (", name, "_all, stream) ", name, "_row = Squeeze(", name, "_1, axis_0) ", name, " = Unsqueeze(", name,
               "_row, head_axis) ");
  out += turned_text("y", "x", "cos", "sin", size, 2 * half, n.integer("interleaved", 0) != 0);
  return out + (joined ? cat(int_list("together", {0, 0, hidden}), "Y = Reshape(y, together) }") : Text("Y = Identity(y) }"));
}

/// -inf for each word that would end a run of ngram_size words that was there before.
Text n_gram_repeat_block(Contributed& n) {
  const int64_t size = n.integer("ngram_size", 0);
  if (size < 1 || size > 64) return "";
  Text out = cat("(ids, scores) => (Y) { count = Shape <start = 1, end = 2> (ids) ", int_list("axis", {1}), int_list("size", {size}), int_list("zero", {0}), "ends_0 = Sub(count, size) ends = Max(ends_0, zero) ",
                 int_list("first", {size - 1}), "words = Slice(ids, first, count, axis) ");
  Text same;
  for (int64_t k = 0; k + 1 < size; ++k) {
    const auto own = [k](const char* what) { return cat(what, "_", k); };
    // Words k places into each run beside the word that has the same place in the run that would end now.
    out += cat(int_list(own("from"), {k}), int_list(own("behind"), {k - size + 1}), int_list(own("upto"), {k - size + 2}), int_list(own("more"), {k + 1}), own("to_0"), " = Add(ends_0, ", own("more"), ") ", own("to"), " = Max(", own("to_0"),
               ", ", own("from"), ") ", own("then"), " = Slice(ids, ", own("from"), ", ", own("to"), ", axis) ");
    out += k + 2 < size ? cat(own("now"), " = Slice(ids, ", own("behind"), ", ", own("upto"), ", axis) ") : cat(own("now"), " = Slice(ids, ", own("behind"), ", count, axis) ");
    out += cat(own("equal"), " = Equal(", own("then"), ", ", own("now"), ") ");
    if (k > 0) out += cat(own("same"), " = And(", same, ", ", own("equal"), ") ");
    same = own(k > 0 ? "same" : "equal");
  }
  out += cat(scalar("high", 1, "scores"), scalar("null", 0, "scores"), "most = Div(high, null) least = Neg(most) ");
  if (size == 1) out += "like = Equal(words, words) ";
  return out + cat("updates = Where(", size == 1 ? Text("like") : same, ", least, most) Y = ScatterElements <axis = 1, reduction = \"min\"> (scores, words, updates) }");
}

}  // namespace optima::onnx_io::recipes
