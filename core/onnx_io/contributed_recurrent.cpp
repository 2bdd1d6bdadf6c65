// SPDX-License-Identifier: Apache-2.0
// core/onnx_io: DynamicQuantizeLSTM of com.microsoft in ONNX operators, with the codes that ONNX Runtime multiplies (DynamicQuantizeLSTM in docs/ContribOperators.md there, and
// what its kernel does): one scale of all inputs, one of the hidden states of all sequences in each step, exact sums of products, all else in floats.
#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

#include "core/onnx_io/contributed_text.hpp"

namespace optima::onnx_io::recipes {
namespace {

/// One activation with its numbers.
struct Activation {
  Text name;
  float alpha = 0, beta = 0;

  /// Steps that make `out` of `in`; nothing for an activation that has no operator.
  std::optional<Text> steps(const Text& out, const Text& in) const {
    const Text a = number(alpha);
    if (name == "sigmoid") return cat(out, " = Sigmoid(", in, ") ");
    if (name == "tanh") return cat(out, " = Tanh(", in, ") ");
    if (name == "relu") return cat(out, " = Relu(", in, ") ");
    if (name == "softsign") return cat(out, " = Softsign(", in, ") ");
    if (name == "softplus") return cat(out, " = Softplus(", in, ") ");
    if (name == "hardsigmoid") return cat(out, " = HardSigmoid <alpha = ", a, ", beta = ", number(beta), "> (", in, ") ");
    if (name == "leakyrelu") return cat(out, " = LeakyRelu <alpha = ", a, "> (", in, ") ");
    if (name == "thresholdedrelu") return cat(out, " = ThresholdedRelu <alpha = ", a, "> (", in, ") ");
    if (name == "elu") return cat(out, " = Elu <alpha = ", a, "> (", in, ") ");
    return std::nullopt;
  }
};

/// Those of each direction, gates, cell, output. Alphas and betas are used up in order by the functions that have them.
std::vector<Activation> activations(const Contributed& n, int64_t directions) {
  std::vector<Text> names = n.texts("activations");
  for (int64_t d = 0; names.size() < static_cast<size_t>(3 * directions); ++d) names.insert(names.end(), {"Sigmoid", "Tanh", "Tanh"});
  const std::vector<float> alphas = n.reals("activation_alpha"), betas = n.reals("activation_beta");
  size_t a = 0, b = 0;
  const auto next = [](const std::vector<float>& given, size_t& at, float otherwise) { return at < given.size() ? given[at++] : otherwise; };
  std::vector<Activation> out;
  for (Text& name : names) {
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    Activation one{name};
    if (name == "hardsigmoid") one.alpha = next(alphas, a, 0.2f), one.beta = next(betas, b, 0.5f);
    if (name == "leakyrelu") one.alpha = next(alphas, a, 0.01f);
    if (name == "elu") one.alpha = next(alphas, a, 1);
    if (name == "thresholdedrelu") one.alpha = next(alphas, a, 0);
    out.push_back(one);
  }
  return out;
}

/// One step: states h and c and the input half x of the gates i, o, f, c become the next ones.
std::optional<Text> step(const Contributed& n, const Text& d, const Activation* act) {
  Text out = cat("hq, hs, hz = DynamicQuantizeLinear(h) sums = MatMulInteger(hq, r", d, ", hz", n.has(11) ? ", rz" + d : "", ") fsums = Cast <to = 1> (sums) scales = Mul(hs, rs", d,
                 ") fromh = Mul(fsums, scales) both = Add(x, fromh) ");
  if (n.has(3)) out += cat("gates = Add(both, b", d, ") ");
  out += cat("gi, go, gf, gc = Split <axis = 1, num_outputs = 4> (", n.has(3) ? "gates" : "both", ") ");
  if (n.has(7)) out += cat("pi, po, pf = Split <axis = 0, num_outputs = 3> (p", d, ") ");
  const float clip = n.real("clip", 0);
  const auto gate = [&](const Text& to, const Activation& f, const Text& peep, const Text& cell) {
    Text in = "g" + to, steps;
    if (n.has(7) && !peep.empty()) steps += cat("seen", to, " = Mul(", cell, ", ", peep, ") with", to, " = Add(", in, ", seen", to, ") "), in = "with" + to;
    if (clip > 0) steps += cat("low", to, " = Max(", in, ", lowest) lim", to, " = Min(low", to, ", highest) "), in = "lim" + to;
    const auto last = f.steps("a" + to, in);
    return last ? std::optional(steps + *last) : std::nullopt;
  };
  const bool coupled = n.integer("input_forget", 0) != 0;
  const auto i = gate("i", act[0], "pi", "c"), f = coupled ? std::optional<Text>("one = CastLike(onei, ai) af = Sub(one, ai) ") : gate("f", act[0], "pf", "c");
  const auto g = gate("c", act[1], "", ""), o = gate("o", act[0], "po", "cn"), h = act[2].steps("shown", "cn");
  if (!i || !f || !g || !o || !h) return std::nullopt;
  Text limits;
  if (clip > 0) limits = cat("lowest = Constant <value_float = ", number(-clip), "> () highest = Constant <value_float = ", number(clip), "> () ");
  if (coupled) limits += "onei = Constant <value_int = 1> () ";
  return cat(limits, out, *i, *f, *g, "kept = Mul(af, c) added = Mul(ai, ac) cn = Add(kept, added) ", *o, *h, "hn = Mul(ao, shown) ");
}

/// The part of an operand that belongs to direction d.
Text part(const Contributed& n, int input, const Text& out, const Text& in, int64_t d, int64_t directions) {
  if (!n.has(input)) return "";
  return directions == 1 ? cat(out, " = Squeeze(", in, ", first) ") : cat(out, " = Gather <axis = 0> (", in, ", d", d, ") ");
}

/// Of sequences of given lengths: what is behind an end stays as it was; states that are multiplied, and results, become 0 there.
Text body_of_lengths(const Text& steps) {
  return cat("(float[?,?] h, float[?,?] c, float[?,?] last, float[?,?] x, int64 t) => (float[?,?] hnext, float[?,?] cnext, float[?,?] lastn, float[?,?] y) { ", steps,
             "on1 = Less(t, lengths) on = Unsqueeze(on1, last1) zero = CastLike(t0, hn) hnext = Where(on, hn, zero) cnext = Where(on, cn, c) lastn = Where(on, hn, last) "
             "y = Identity(hnext) }");
}

}  // namespace

Text dynamic_quantize_lstm(Contributed& n) {
  const auto w = n.dims(1), r = n.dims(2);
  if (!w || w->size() != 3 || !r || r->size() != 3 || (*r)[1] < 1 || !n.has(8) || !n.has(10)) return "";
  const Text way = n.text("direction", "forward");
  const int64_t directions = way == "bidirectional" ? 2 : 1, hidden = (*r)[1];
  const std::vector<Activation> act = activations(n, directions);
  const bool ragged = n.has(4);
  Text out = cat("(X, W, R, B, lens, h0, c0, P, Ws, Wz, Rs, Rz) => (Y, Yh, Yc) { first = Constant <value_ints = [0]> () d0 = Constant <value_int = 0> () d1 = Constant <value_int = 1> () ",
                 "xq, xs, xz = DynamicQuantizeLinear(X) ");
  if (!n.has(5) || !n.has(6) || ragged)
    out += cat("shape = Shape <start = 1, end = 2> (X) hidden = Constant <value_ints = [", hidden, "]> () state = Concat <axis = 0> (shape, hidden) nothing = ConstantOfShape(state) ");
  if (ragged) out += "lengths = Cast <to = 7> (lens) t0 = Constant <value_int = 0> () last1 = Constant <value_ints = [-1]> () t1 = Constant <value_int = 1> () steps1 = Shape <start = 0, end = 1> (X) "
                     "steps = Squeeze(steps1) times = Range(t0, steps, t1) has1 = Greater(lengths, t0) has = Unsqueeze(has1, last1) ";
  for (int64_t k = 0; k < directions; ++k) {
    const Text d = cat(k);
    const bool back = k == 1 || way == "reverse";
    out += part(n, 1, "w" + d, "W", k, directions) + part(n, 2, "r" + d, "R", k, directions) + part(n, 7, "p" + d, "P", k, directions);
    out += part(n, 8, "ws" + d, "Ws", k, directions) + part(n, 9, "wz" + d, "Wz", k, directions) + part(n, 10, "rs" + d, "Rs", k, directions) + part(n, 11, "rz" + d, "Rz", k, directions);
    if (n.has(3)) out += cat(part(n, 3, "bb" + d, "B", k, directions), "bw", d, ", br", d, " = Split <axis = 0, num_outputs = 2> (bb", d, ") b", d, " = Add(bw", d, ", br", d, ") ");
    out += part(n, 5, "h0" + d, "h0", k, directions) + part(n, 6, "c0" + d, "c0", k, directions);
    out += cat("xsums", d, " = MatMulInteger(xq, w", d, ", xz", n.has(9) ? ", wz" + d : "", ") fxsums", d, " = Cast <to = 1> (xsums", d, ") xscale", d, " = Mul(xs, ws", d, ") xg", d, " = Mul(fxsums", d, ", xscale", d, ") ");
    const auto steps = step(n, d, act.data() + 3 * k);
    if (!steps) return "";
    const Text states = cat(n.has(5) ? "h0" + d : "nothing", ", ", n.has(6) ? "c0" + d : "nothing");
    if (ragged) {
      if (back) out += cat("xr", d, " = ReverseSequence <batch_axis = 1, time_axis = 0> (xg", d, ", lengths) ");
      out += cat("hx", d, ", cx", d, ", hl", d, ", ys", d, " = Scan <num_scan_inputs = 2, body = step ", body_of_lengths(*steps), "> (", states, ", nothing, ", back ? "xr" : "xg", d, ", times) ",
                 back ? cat("y", d, " = ReverseSequence <batch_axis = 1, time_axis = 0> (ys", d, ", lengths) ") : cat("y", d, " = Identity(ys", d, ") "), "cl", d, " = Where(has, cx", d, ", nothing) ");
    } else {
      const Text turned = back ? ", scan_input_directions = [1], scan_output_directions = [1]" : "";
      out += cat("hl", d, ", cl", d, ", y", d, " = Scan <num_scan_inputs = 1", turned, ", body = step (float[?,?] h, float[?,?] c, float[?,?] x) => (float[?,?] hn, float[?,?] cn, float[?,?] y) { ", *steps,
                 "y = Identity(hn) }> (", states, ", xg", d, ") ");
    }
  }
  const auto joined = [&](const Text& to, const Text& from, int64_t axis) -> Text {
    const Text one = cat("at", to, " = Constant <value_ints = [", axis, "]> () ");
    if (directions == 1) return cat(one, to, " = Unsqueeze(", from, "0, at", to, ") ");
    return cat(one, "u", to, "0 = Unsqueeze(", from, "0, at", to, ") u", to, "1 = Unsqueeze(", from, "1, at", to, ") ", to, " = Concat <axis = ", axis, "> (u", to, "0, u", to, "1) ");
  };
  return out + joined("Y", "y", 1) + joined("Yh", "hl", 0) + joined("Yc", "cl", 0) + "}";
}

}  // namespace optima::onnx_io::recipes
