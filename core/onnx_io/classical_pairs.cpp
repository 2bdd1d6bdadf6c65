// SPDX-License-Identifier: Apache-2.0
// core/onnx_io: for SVMClassifier: probabilities of classes from those of their pairs, by the second method of Wu, Lin and Weng, "Probability
// Estimates for Multi-class Classification by Pairwise Coupling" (2004), as LIBSVM and ONNX Runtime do it: p minimizes p' Q p with sum 1, where
// Q[i][i] = sum of r[j][i]^2 and Q[i][j] = -r[j][i] r[i][j]; one coordinate after the other, until the gradient is even.
#include "core/onnx_io/classical.hpp"

namespace optima::onnx_io::recipes {
namespace {

/// Sweeps over all coordinates. Random pairs of 2 to 10 classes were even after 4 at most; ONNX Runtime stops at 100.
constexpr int64_t kSweeps = 6;

/// r [N, K, K]: r[i][j] = the probability of i where it is i or j; 0 on the diagonal.
Text pair_matrix(Contributed& n, int64_t classes, const std::vector<float>& a, const std::vector<float>& b) {
  const int64_t pairs = classes * (classes - 1) / 2;
  std::vector<float> first(static_cast<size_t>(pairs * classes * classes), 0), second(first);
  int64_t p = 0;
  for (int64_t i = 0; i < classes; ++i)
    for (int64_t j = i + 1; j < classes; ++j, ++p) first[static_cast<size_t>((p * classes + i) * classes + j)] = 1, second[static_cast<size_t>((p * classes + j) * classes + i)] = 1;
  const Text f = floats(n, "first", first, {pairs, classes * classes}), s = floats(n, "second", second, {pairs, classes * classes});
  const Text wa = floats(n, "prob_a", {a.begin(), a.begin() + pairs}, {pairs}), wb = floats(n, "prob_b", {b.begin(), b.begin() + pairs}, {pairs});
  return cat("q_sa = Mul(s, ", wa, ") q_sb = Add(q_sa, ", wb, ") q_neg = Neg(q_sb) q_sig = Sigmoid(q_neg) ", value("q_low", 1e-7), value("q_high", 1 - 1e-7), value("q_one", 1),
             "q_val = Clip(q_sig, q_low, q_high) q_rest = Sub(q_one, q_val) q_first = MatMul(q_val, ", f, ") q_second = MatMul(q_rest, ", s, ") q_flat = Add(q_first, q_second) ",
             int_list("q_shape", {0, classes, classes}), "r = Reshape(q_flat, q_shape) ");
}

/// One coordinate: gradient `g` = Qp [N, 1, K], `e` = p'Qp [N, 1, 1] and p [N, 1, K] go from names with `from` to those with `to`.
Text coordinate(int64_t i, const Text& from, const Text& to) {
  const auto at = [&](const char* name) { return cat(name, from); };
  const auto next = [&](const char* name) { return cat(name, to); };
  return cat(at("gi"), " = Slice(", at("g"), ", at", i, ", at", i + 1, ", last) ", at("less"), " = Sub(", at("e"), ", ", at("gi"), ") ", at("d"), " = Div(", at("less"), ", q", i, ") ", at("scale"),
             " = Add(", at("d"), ", q_one) ", at("dq"), " = Mul(", at("d"), ", q", i, ") ", at("g2"), " = Add(", at("gi"), ", ", at("gi"), ") ", at("in"), " = Add(", at("dq"), ", ", at("g2"), ") ",
             at("more"), " = Mul(", at("d"), ", ", at("in"), ") ", at("sum"), " = Add(", at("e"), ", ", at("more"), ") ", at("part"), " = Div(", at("sum"), ", ", at("scale"), ") ", next("e"), " = Div(",
             at("part"), ", ", at("scale"), ") ", at("row"), " = Mul(", at("d"), ", row", i, ") ", at("moved"), " = Add(", at("g"), ", ", at("row"), ") ", next("g"), " = Div(", at("moved"), ", ",
             at("scale"), ") ", at("own"), " = Mul(", at("d"), ", unit", i, ") ", at("up"), " = Add(", at("p"), ", ", at("own"), ") ", next("p"), " = Div(", at("up"), ", ", at("scale"), ") ");
}

}  // namespace

Text coupled(Contributed& n, int64_t classes, const std::vector<float>& a, const std::vector<float>& b, const Text& out) {
  Text text = pair_matrix(n, classes, a, b);
  std::vector<float> identity(static_cast<size_t>(classes * classes), 0);
  for (int64_t i = 0; i < classes; ++i) identity[static_cast<size_t>(i * classes + i)] = 1;
  text += cat(permuted("rt", "r", {0, 2, 1}), int_list("rows", {1}), int_list("last", {2}), value("even", 0.005 / static_cast<double>(classes)), "rr = Mul(r, rt) off = Neg(rr) diagonal = ReduceSumSquare(r, rows) on = Mul(diagonal, ",
              floats(n, "identity", identity, {classes, classes}), ") q = Add(off, on) ");
  for (int64_t i = 0; i <= classes; ++i) text += int_list(cat("at", i), {i});
  for (int64_t i = 0; i < classes; ++i) {
    std::vector<float> unit(static_cast<size_t>(classes), 0);
    unit[static_cast<size_t>(i)] = 1;
    (void)floats(n, cat("unit", i).c_str(), unit, {1, 1, classes});
    text += cat("row", i, " = Slice(q, at", i, ", at", i + 1, ", rows) q", i, " = Slice(row", i, ", at", i, ", at", i + 1, ", last) ");
  }
  (void)floats(n, "equal", std::vector<float>(static_cast<size_t>(classes), 1.0f / static_cast<float>(classes)), {1, 1, classes});
  Text p = "equal";
  for (int64_t k = 0; k < kSweeps; ++k) {
    const auto own = [k](const char* name, int64_t i) { return cat(name, "_", k, "_", i); };
    const auto tag = [k](int64_t i) { return cat("_", k, "_", i); };
    // A sample whose gradient is even stays.
    text += cat(own("p", 0), " = Identity(", p, ") ", own("g", 0), " = MatMul(", p, ", q) ", own("pg", 0), " = Mul(", p, ", ", own("g", 0), ") ", own("e", 0), " = ReduceSum(", own("pg", 0), ", last) ",
                own("gap", 0), " = Sub(", own("g", 0), ", ", own("e", 0), ") ", own("size", 0), " = Abs(", own("gap", 0), ") ", own("worst", 0), " = ReduceMax(", own("size", 0), ", last) ", own("stop", 0),
                " = Less(", own("worst", 0), ", even) ");
    for (int64_t i = 0; i < classes; ++i) text += coordinate(i, tag(i), tag(i + 1));
    text += cat(own("kept", 0), " = Where(", own("stop", 0), ", ", p, ", ", own("p", classes), ") ");
    p = own("kept", 0);
  }
  return cat(text, out, " = Squeeze(", p, ", rows) ");
}

}  // namespace optima::onnx_io::recipes
