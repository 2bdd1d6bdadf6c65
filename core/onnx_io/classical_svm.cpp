// SPDX-License-Identifier: Apache-2.0
// core/onnx_io: recipes of ai.onnx.ml: SVMRegressor, SVMClassifier.
#include <algorithm>

#include "core/onnx_io/classical.hpp"

namespace optima::onnx_io::recipes {
namespace {

/// Elements of all differences of one sample to its vectors; above, squares of differences come of products.
constexpr int64_t kMostDifferences = 1 << 16;
/// Classes whose probabilities are coupled: the nodes grow with them.
constexpr int64_t kMostCoupled = 32;

struct Kernel {
  Text type;
  float gamma = 0, coef0 = 0, degree = 0;
};

Kernel kernel_of(const Contributed& n) {
  const std::vector<float> p = n.reals("kernel_params");
  Kernel k{n.text("kernel_type", "LINEAR"), 0, 0, 0};
  if (p.size() > 2) k.gamma = p[0], k.coef0 = p[1], k.degree = p[2];
  return k;
}

/// d [N, V], the squared distances of x [N, F] and vectors [V, F].
Text distances(Contributed& n, const std::vector<float>& vectors, int64_t count, int64_t features) {
  if (count * features <= kMostDifferences) {
    const Text v = floats(n, "vectors", vectors, {1, count, features});
    return cat("k_axis = Constant <value_ints = [1]> () k_x = Unsqueeze(x, k_axis) k_diff = Sub(k_x, ", v,
               ") k_last = Constant <value_ints = [-1]> () d = ReduceSumSquare <keepdims = 0> (k_diff, k_last) ");
  }
  // |x|^2 - 2xv + |v|^2 about the middle of the vectors, so that little cancels.
  std::vector<double> middle(static_cast<size_t>(features), 0);
  for (size_t i = 0; i < vectors.size(); ++i) middle[i % middle.size()] += vectors[i] / static_cast<double>(count);
  std::vector<float> about(middle.begin(), middle.end()), moved(vectors.size()), squares(static_cast<size_t>(count));
  for (size_t i = 0; i < vectors.size(); ++i) moved[i] = vectors[i] - about[i % about.size()];
  for (int64_t v = 0; v < count; ++v) {
    double sum = 0;
    for (int64_t f = 0; f < features; ++f) sum += static_cast<double>(moved[static_cast<size_t>(v * features + f)]) * moved[static_cast<size_t>(v * features + f)];
    squares[static_cast<size_t>(v)] = static_cast<float>(sum);
  }
  const Text m = floats(n, "middle", about, {features}), v = floats(n, "vectors", moved, {count, features}), s = floats(n, "squares", squares, {count});
  return cat("k_x = Sub(x, ", m, ") k_last = Constant <value_ints = [-1]> () k_xx = ReduceSumSquare(k_x, k_last) k_p = Gemm <alpha = -2.0, transB = 1> (k_x, ", v, ", ", s,
             ") k_d = Add(k_p, k_xx) k_zero = Constant <value = float {0.0}> () d = Max(k_d, k_zero) ");
}

/// k [N, V] of x [N, F] and vectors [V, F].
Text kernels(Contributed& n, const Kernel& kernel, const std::vector<float>& vectors, int64_t count, int64_t features) {
  if (kernel.type == "RBF") return cat(distances(n, vectors, count, features), value("k_gamma", -kernel.gamma), "k_e = Mul(d, k_gamma) k = Exp(k_e) ");
  const Text v = floats(n, "vectors", vectors, {count, features});
  if (kernel.type == "LINEAR") return cat("k = Gemm <transB = 1> (x, ", v, ") ");
  const Text inner = cat(value("k_c", kernel.coef0), "k_i = Gemm <alpha = ", number(kernel.gamma), ", transB = 1> (x, ", v, ", k_c) ");
  if (kernel.type == "SIGMOID") return cat(inner, "k = Tanh(k_i) ");
  return cat(inner, value("k_d", kernel.degree), "k = Pow(k_i, k_d) ");
}

bool known(const Kernel& kernel) { return kernel.type == "LINEAR" || kernel.type == "POLY" || kernel.type == "RBF" || kernel.type == "SIGMOID"; }
Text unknown(Contributed& n, const Kernel& kernel) { return n.refuse(cat("attribute kernel_type is ", quote(kernel.type), ", wanted LINEAR, POLY, RBF or SIGMOID")); }

/// Pairs of classes (i, j), i < j, in order.
std::vector<std::pair<int64_t, int64_t>> pairs_of(int64_t classes) {
  std::vector<std::pair<int64_t, int64_t>> out;
  for (int64_t i = 0; i < classes; ++i)
    for (int64_t j = i + 1; j < classes; ++j) out.emplace_back(i, j);
  return out;
}

struct Machine {
  std::vector<float> coefficients, rho, vectors;
  Dims per_class;
  int64_t count = 0, features = 0, classes = 0;
};

/// s [N, pairs]: for each pair, its two classes' kernels by their coefficients. A class has classes - 1 rows of them, none against itself.
Text pair_scores(Contributed& n, const Machine& m) {
  const auto pairs = pairs_of(m.classes);
  const int64_t count = static_cast<int64_t>(pairs.size());
  Dims start{0};
  for (const int64_t c : m.per_class) start.push_back(start.back() + c);
  std::vector<float> mix(static_cast<size_t>(m.count * count), 0);
  for (int64_t p = 0; p < count; ++p) {
    const auto [i, j] = pairs[static_cast<size_t>(p)];
    for (const auto& [own, row] : {std::pair{i, j - 1}, std::pair{j, i}})
      for (int64_t v = start[static_cast<size_t>(own)]; v < start[static_cast<size_t>(own) + 1]; ++v)
        mix[static_cast<size_t>(v * count + p)] = m.coefficients[static_cast<size_t>(row * m.count + v)];
  }
  const std::vector<float> rho(m.rho.begin(), m.rho.begin() + count);
  const Text w = floats(n, "mix", mix, {m.count, count}), b = floats(n, "rho", rho, {count});
  return cat("s = Gemm(k, ", w, ", ", b, ") ");
}

/// at [N]: the class that wins most pairs, the first of equals.
Text most_votes(Contributed& n, int64_t classes) {
  const auto pairs = pairs_of(classes);
  const int64_t count = static_cast<int64_t>(pairs.size());
  // A won pair is a vote for its first class, a lost one for its second.
  std::vector<float> won(static_cast<size_t>(count * classes), 0), all(static_cast<size_t>(classes), 0);
  for (int64_t p = 0; p < count; ++p) {
    const auto [i, j] = pairs[static_cast<size_t>(p)];
    won[static_cast<size_t>(p * classes + i)] = 1, won[static_cast<size_t>(p * classes + j)] = -1, ++all[static_cast<size_t>(j)];
  }
  const Text w = floats(n, "votes", won, {count, classes}), b = floats(n, "lost", all, {classes});
  return cat(value("v_zero", 0), "v_is = Greater(s, v_zero) v_f = Cast <to = ", kF32, "> (v_is) v = Gemm(v_f, ", w, ", ", b, ") at = ArgMax <axis = 1, keepdims = 0> (v) ");
}

Text of_vectors(Contributed& n, const Machine& m, const Labels& labels, const Text& head, const Text& how) {
  const size_t pairs = static_cast<size_t>(m.classes * (m.classes - 1) / 2);
  if (static_cast<int64_t>(m.per_class.size()) != m.classes || m.classes < 2 || m.rho.size() < pairs ||
      static_cast<int64_t>(m.coefficients.size()) < (m.classes - 1) * m.count)
    return n.refuse(cat("attributes coefficients and rho have ", m.coefficients.size(), " and ", m.rho.size(), " numbers, wanted ", (m.classes - 1) * m.count, " and ", pairs,
                        " for ", m.classes, " classes and ", m.count, " vectors"));
  const Text steps = cat(head, pair_scores(n, m), most_votes(n, m.classes), labelled(n, labels, "Y", "at"));
  const std::vector<float> a = n.reals("prob_a"), b = n.reals("prob_b");
  if (!a.empty() || !b.empty()) {
    if (a.size() < pairs || b.size() < pairs || m.classes > kMostCoupled)
      return n.refuse(cat("attributes prob_a and prob_b have ", a.size(), " and ", b.size(), " numbers, wanted ", pairs, ", for ", kMostCoupled, " classes at most"));
    return cat(steps, coupled(n, m.classes, a, b, "z"), transformed(how, "Z", "z"), "}");
  }
  if (m.classes > 2) return cat(steps, transformed(how, "Z", "s"), "}");
  return cat(steps, of_one("Z", "s", how != "NONE", how), "}");
}

/// One row of coefficients for each class.
Text of_rows(Contributed& n, const Machine& m, const Labels& labels, const Text& how) {
  const Text w = floats(n, "weights", m.coefficients, {m.classes, static_cast<int64_t>(m.coefficients.size()) / m.classes});
  const Text steps = cat("(X) => (Y, Z) { ", samples(n, "x", "X"), value("rho", m.rho[0]), "s = Gemm <transB = 1> (x, ", w, ", rho) best = ArgMax <axis = 1, keepdims = 0> (s) ");
  if (m.classes != 2) return cat(steps, labelled(n, labels, "Y", "best"), transformed(how, "Z", "s"), "}");
  // Of two classes the second as soon as the greater score passes a limit.
  const bool positive = std::all_of(m.coefficients.begin(), m.coefficients.end(), [](float v) { return v >= 0; });
  return cat(steps, "axis = Constant <value_ints = [1]> () most = ReduceMax <keepdims = 0> (s, axis) ", value("limit", positive ? 0.5 : 0.0), "over = ",
             positive ? "GreaterOrEqual" : "Greater", "(most, limit) second = Constant <value = int64 {1}> () at = Where(over, second, best) ", labelled(n, labels, "Y", "at"),
             transformed(how, "Z", "s"), "}");
}

}  // namespace

Text svm_regressor(Contributed& n) {
  Kernel kernel = kernel_of(n);
  const std::vector<float> coefficients = n.reals("coefficients"), rho = n.reals("rho"), vectors = n.reals("support_vectors");
  const int64_t count = n.integer("n_supports", 0);
  if (coefficients.empty() || rho.empty() || count < 0 || (count > 0 && (vectors.size() < static_cast<size_t>(count) || vectors.size() % static_cast<size_t>(count) != 0 ||
                                                                       coefficients.size() < static_cast<size_t>(count))))
    return n.refuse(cat("attributes coefficients, rho and support_vectors have ", coefficients.size(), ", ", rho.size(), " and ", vectors.size(), " numbers, wanted those of ", count,
                        " vectors"));
  if (!known(kernel)) return unknown(n, kernel);
  const bool sign = n.integer("one_class", 0) != 0;
  Text out = cat("(X) => (Y) { ", samples(n, "x", "X"));
  const Text y = sign ? "y" : "Y";
  const Text w = floats(n, "weights", coefficients, {1, static_cast<int64_t>(coefficients.size())});
  if (count > 0) out += kernels(n, kernel, vectors, count, static_cast<int64_t>(vectors.size()) / count);
  out += cat(value("rho", rho[0]), y, " = Gemm <transB = 1> (", count > 0 ? "k" : "x", ", ", w, ", rho) ");
  if (sign) out += cat(value("zero", 0), value("one", 1), value("minus", -1), "is = Greater(y, zero) Y = Where(is, one, minus) ");
  return out + "}";
}

Text svm_classifier(Contributed& n) {
  const Kernel kernel = kernel_of(n);
  if (!known(kernel)) return unknown(n, kernel);
  const Labels labels = labels_of(n, "classlabels_ints", "classlabels_strings");
  Machine m{n.reals("coefficients"), n.reals("rho"), n.reals("support_vectors"), n.integers("vectors_per_class"), 0, 0, labels.count()};
  for (const int64_t c : m.per_class) {
    if (c < 0) return n.refuse("attribute vectors_per_class has a negative number");
    m.count += c;
  }
  if (m.classes < 1 || m.rho.empty() || m.coefficients.empty()) return n.refuse("attributes classlabels_*, coefficients and rho, wanted all");
  const Text how = n.text("post_transform", "NONE");
  if (m.count == 0) return of_rows(n, m, labels, how);
  m.features = static_cast<int64_t>(m.vectors.size()) / m.count;
  if (m.features < 1 || m.features * m.count != static_cast<int64_t>(m.vectors.size()))
    return n.refuse(cat("attribute support_vectors has ", m.vectors.size(), " numbers, wanted those of ", m.count, " vectors"));
  return of_vectors(n, m, labels, cat("(X) => (Y, Z) { ", samples(n, "x", "X"), kernels(n, kernel, m.vectors, m.count, m.features)), how);
}

}  // namespace optima::onnx_io::recipes
