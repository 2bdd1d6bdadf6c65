// SPDX-License-Identifier: Apache-2.0
// core/onnx_io: what mixtures of experts of com.microsoft are in ONNX operators, by ONNX Runtime's operator pages (docs/ContribOperators.md
// there). Every expert computes every token, and a gate of 0 takes out what the router did not choose: the sizes hang on shapes alone.
#include <cmath>
#include <limits>
#include <optional>

#include "core/onnx_io/contributed_text.hpp"

namespace optima::onnx_io::recipes {
namespace {

/// gates [experts, tokens, 1] by the router's R [tokens, experts], whose k largest choose; what they weigh says R or, if it is there, RW.
Text gates_text(const Contributed& n, bool has_weights) {
  const bool normal = n.integer("normalize_routing_weights", 0) != 0;
  Text out = cat(int_list("k_1", {n.integer("k", 1)}), "top, at = TopK <axis = 1> (R, k_1) ");
  if (has_weights) {
    out += cat(normal ? "chosen" : "gate", " = GatherElements <axis = 1> (RW, at) ");
    if (normal) out += "total = ReduceSum <keepdims = 1> (chosen, axis_1) gate = Div(chosen, total) ";
  } else {
    out += normal ? "gate = Softmax <axis = 1> (top) " : "parts = Softmax <axis = 1> (R) gate = GatherElements <axis = 1> (parts, at) ";
  }
  return out + "router_shape = Shape(R) none_f = ConstantOfShape (router_shape) none = CastLike(none_f, R) spread = ScatterElements <axis = 1> (none, at, gate) "
               "by_expert = Transpose <perm = [1, 0]> (spread) gates = Unsqueeze(by_expert, axis_2) ";
}

/// out [experts, tokens, rows] = in * W' + bias, with weights [experts, rows, columns] and a bias [experts, rows] or none.
Text layer_text(const Text& out, const Text& in, const Text& weights, const Text& bias) {
  Text text = cat(permuted(out + "_t", weights, {0, 2, 1}), bias.empty() ? out : cat(out, "_m"), " = MatMul(", in, ", ", out, "_t) ");
  if (!bias.empty()) text += cat(out, "_b = Unsqueeze(", bias, ", axis_1) ", out, " = Add(", out, "_m, ", out, "_b) ");
  return text;
}

/// The gate g and the line l of SwiGLU out of h, whose rows of two layers lie by turns or one layer behind the other.
Text halves_text(int64_t fusion, int64_t rows) {
  if (fusion == 2) return "g, l = Split <axis = 2, num_outputs = 2> (h) ";
  return cat(int_list("pairs", {0, 0, rows / 2, 2}), "h_p = Reshape(h, pairs) g_1, l_1 = Split <axis = 3, num_outputs = 2> (h_p) ", int_list("axis_3", {3}),
             "g = Squeeze(g_1, axis_3) l = Squeeze(l_1, axis_3) ");
}

Text swiglu_text(const Contributed& n) {
  const float limit = n.real("swiglu_limit", std::numeric_limits<float>::infinity());
  const Text g = std::isfinite(limit) ? "g_c" : "g", l = std::isfinite(limit) ? "l_c" : "l";
  Text out;
  if (g != "g") out = cat(scalar("limit", limit, "X"), scalar("lowest", -limit, "X"), "g_c = Min(g, limit) l_c = Clip(l, lowest, limit) ");
  return out + cat(scalar("alpha", n.real("activation_alpha", 1), "X"), scalar("beta", n.real("activation_beta", 0), "X"), "g_a = Mul(", g, ", alpha) g_s = Sigmoid(g_a) g_g = Mul(", g,
                   ", g_s) l_s = Add(", l, ", beta) a = Mul(g_g, l_s) ");
}

/// a = the activation of h, times l = the third layer where there is one.
Text plain_text(const Text& kind, bool has_line) {
  const Text a = has_line ? "h_a" : "a";
  Text out;
  if (kind == "relu") out = cat(a, " = Relu(h) ");
  else if (kind == "gelu") out = cat(a, " = Gelu <approximate = \"tanh\"> (h) ");
  else if (kind == "silu") out = cat("h_s = Sigmoid(h) ", a, " = Mul(h, h_s) ");
  else if (kind == "identity") out = cat(a, " = Identity(h) ");
  else return "";
  return has_line ? out + "a = Mul(h_a, l) " : out;
}

/// The layers by their names in the text; empty = not there.
struct Layers {
  Text w1, b1, w2, b2, w3, b3;
  int64_t rows1 = 0, hidden = 0;  ///< of w1; the columns of it
};

Text experts_text(const Contributed& n, const Layers& e, bool has_router_weights) {
  const int64_t fusion = n.integer("swiglu_fusion", 0);
  const Text kind = n.text("activation_type", "relu");
  const bool is_swiglu = kind == "swiglu", is_fused = is_swiglu && fusion != 0;
  if (n.integer("use_sparse_mixer", 0) != 0 || n.integer("k", 1) < 1 || fusion < 0 || fusion > 2 || (is_swiglu && is_fused != e.w3.empty())) return "";
  if (is_fused && e.rows1 % 2 != 0) return "";
  Text out = cat(int_list("axis_1", {1}), int_list("axis_2", {2}), gates_text(n, has_router_weights), int_list("flat", {-1, e.hidden}), "x = Reshape(X, flat) ", layer_text("h", "x", e.w1, e.b1));
  if (!e.w3.empty()) out += layer_text("l", "x", e.w3, e.b3);
  if (is_fused) out += halves_text(fusion, e.rows1);
  if (is_swiglu) {
    out += is_fused ? swiglu_text(n) : cat("g = Identity(h) ", swiglu_text(n));
  } else {
    const Text activation = plain_text(kind, !e.w3.empty());
    if (activation.empty()) return "";
    out += activation;
  }
  return cat(out, layer_text("o", "a", e.w2, e.b2), "weighed = Mul(o, gates) ", int_list("axis_0", {0}), "y = ReduceSum <keepdims = 0> (weighed, axis_0) shape = Shape(X) Y = Reshape(y, shape) }");
}

/// Weights of few bits: [experts, rows, columns * bits / 8] of bytes, a scale by row or by block of columns, zero points likewise.
struct Coded {
  int weights, scales, zeros;  ///< inputs
  Text out, scale_name;        ///< names in the text
  const char* bits;            ///< attribute
};

/// `steps` gets the nodes that make out [experts, rows, columns]; nothing where the operands are not of this form.
std::optional<Dims> add_decoded(Contributed& n, const Coded& c, Text& steps) {
  const int64_t bits = n.integer(c.bits, n.integer("expert_weight_bits", 4)), block = std::max<int64_t>(n.integer("block_size", 0), 0);
  const auto dims = n.dims(c.weights);
  if ((bits != 4 && bits != 8) || !dims || dims->size() != 3 || !n.is_constant(c.weights) || n.dtype(c.weights) != kU8 || !n.has(c.scales)) return std::nullopt;
  const int64_t experts = (*dims)[0], rows = (*dims)[1], columns = (*dims)[2] * 8 / bits, size = block ? block : columns;
  if (experts < 1 || rows < 1 || columns < 1 || columns % size != 0) return std::nullopt;
  const int64_t blocks = columns / size;
  const int32_t type = bits == 4 ? kU4 : kU8;
  const Text codes = n.seen_as(cat(c.out, "_codes").c_str(), c.weights, type, {experts, rows, columns});
  std::string zeros(static_cast<size_t>((experts * rows * blocks * bits + 7) / 8), bits == 4 ? '\x88' : '\x80');
  if (n.has(c.zeros)) {
    const auto given = n.bytes(c.zeros);
    const int64_t lines = block ? experts * rows : experts, per_line = block ? blocks : rows;
    if (!given || given->size() != static_cast<size_t>(lines * ((per_line * bits + 7) / 8))) return std::nullopt;
    zeros = bits == 4 ? unpadded(*given, lines, per_line, bits) : *given;
  }
  const Text zero = n.constant(cat(c.out, "_zeros").c_str(), type, {experts, rows, blocks}, zeros);
  steps += cat(int_list(c.out + "_grid", {experts, rows, blocks}), c.out, "_scales = Reshape(", c.scale_name, ", ", c.out, "_grid) ", c.out, " = DequantizeLinear <axis = 2, block_size = ", size, "> (", codes,
               ", ", c.out, "_scales, ", zero, ") ");
  return Dims{experts, rows, columns};
}

}  // namespace

Text moe(Contributed& n) {
  enum { kX, kR, kW1, kB1, kW2, kB2, kW3, kB3 };
  const auto w1 = n.dims(kW1);
  if (!n.has(kR) || !w1 || w1->size() != 3 || (*w1)[1] < 1 || (*w1)[2] < 1 || !n.has(kW2)) return "";
  const auto given = [&](int at, const char* name) { return n.has(at) ? Text(name) : Text(); };
  const Text body = experts_text(n, {"W1", given(kB1, "B1"), "W2", given(kB2, "B2"), given(kW3, "W3"), given(kB3, "B3"), (*w1)[1], (*w1)[2]}, false);
  return body.empty() ? "" : "(X, R, W1, B1, W2, B2, W3, B3) => (Y) { " + body;
}

Text q_moe(Contributed& n) {
  enum { kX, kR, kW1, kS1, kB1, kW2, kS2, kB2, kW3, kS3, kB3, kZ1, kZ2, kZ3, kRouterWeights, kScalesOfFloats };
  if (n.text("quant_type", "int") != "int" || n.integer("weights_prepacked", -1) > 0) return "";
  for (int k = kScalesOfFloats; k < n.inputs(); ++k)
    if (n.has(k)) return "";
  Text steps;
  const auto w1 = add_decoded(n, {kW1, kS1, kZ1, "w1", "S1", "fc1_expert_weight_bits"}, steps);
  if (!w1 || !add_decoded(n, {kW2, kS2, kZ2, "w2", "S2", "fc2_expert_weight_bits"}, steps)) return "";
  if (n.has(kW3) && !add_decoded(n, {kW3, kS3, kZ3, "w3", "S3", "fc3_expert_weight_bits"}, steps)) return "";
  const auto given = [&](int at, const char* name) { return n.has(at) ? Text(name) : Text(); };
  const Text body = experts_text(n, {"w1", given(kB1, "B1"), "w2", given(kB2, "B2"), given(kW3, "w3"), given(kB3, "B3"), (*w1)[1], (*w1)[2]}, n.has(kRouterWeights));
  return body.empty() ? "" : cat("(X, R, W1, S1, B1, W2, S2, B2, W3, S3, B3, Z1, Z2, Z3, RW, G1, G2, A1, A2, K1, K2) => (Y) { ", steps, body);
}

}  // namespace optima::onnx_io::recipes
