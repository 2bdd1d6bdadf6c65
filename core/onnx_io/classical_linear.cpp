// SPDX-License-Identifier: Apache-2.0
// core/onnx_io: recipes of ai.onnx.ml: LinearRegressor, LinearClassifier.
#include "core/onnx_io/classical.hpp"

namespace optima::onnx_io::recipes {
namespace {

/// Of more coefficients than the input has features ONNX Runtime reads the first, row after row of that length.
void leave_off(Contributed& n, int64_t rows, std::vector<float>& weights) {
  const auto dims = n.dims(0);
  const int64_t features = dims && !dims->empty() ? dims->back() : -1, wanted = rows * features, given = static_cast<int64_t>(weights.size());
  if (features < 1 || given <= wanted) return;
  n.warn(cat("attribute coefficients has ", given, " numbers, of which the first ", wanted, " are taken: ", rows, " rows for the ", features, " features of input 0"));
  weights.resize(static_cast<size_t>(wanted));
}

/// s [N, rows] = X * W' + b.
Text scores(Contributed& n, int64_t rows, std::vector<float> weights, const std::vector<float>& bias) {
  leave_off(n, rows, weights);
  const Text w = floats(n, "weights", weights, {rows, static_cast<int64_t>(weights.size()) / rows});
  const Text b = bias.empty() ? "" : ", " + floats(n, "bias", bias, {rows});
  return cat(samples(n, "x", "X"), "s = Gemm <transB = 1> (x, ", w, b, ") ");
}

}  // namespace

Text linear_regressor(Contributed& n) {
  const std::vector<float> weights = n.reals("coefficients"), bias = n.reals("intercepts");
  const int64_t targets = n.integer("targets", 1), count = static_cast<int64_t>(weights.size());
  if (targets < 1 || count < targets || count % targets != 0 || (!bias.empty() && static_cast<int64_t>(bias.size()) != targets))
    return n.refuse(cat("attributes coefficients and intercepts have ", count, " and ", bias.size(), " numbers, wanted some and one for each of ", targets, " targets"));
  const Text how = n.text("post_transform", "NONE");
  // ONNX Runtime transforms several scores only, but for PROBIT.
  return cat("(X) => (Y) { ", scores(n, targets, weights, bias), transformed(targets == 1 && how != "PROBIT" ? "NONE" : how, "Y", "s"), "}");
}

Text linear_classifier(Contributed& n) {
  const std::vector<float> weights = n.reals("coefficients"), bias = n.reals("intercepts");
  const Labels labels = labels_of(n, "classlabels_ints", "classlabels_strings");
  const int64_t rows = bias.empty() ? labels.count() : static_cast<int64_t>(bias.size()), count = static_cast<int64_t>(weights.size());
  if (rows < 1 || count < rows || count % rows != 0) return n.refuse(cat("attribute coefficients has ", count, " numbers, wanted some for each of ", rows, " classes"));
  const Text how = n.text("post_transform", "NONE"), head = cat("(X) => (Y, Z) { ", scores(n, rows, weights, bias));
  if (rows > 1) {
    if (labels.count() < rows) return n.refuse(cat("attributes classlabels_* have ", labels.count(), " labels, wanted ", rows));
    return cat(head, "at = ArgMax <axis = 1, keepdims = 0> (s) ", labelled(n, labels, "Y", "at"), transformed(how, "Z", "s"), "}");
  }
  if (labels.count() != 2) return n.refuse(cat("attributes classlabels_* have ", labels.count(), " labels, wanted 2 for one row of coefficients"));
  return cat(head, above("at", "s", 0), labelled(n, labels, "Y", "at"), of_one("Z", "s", true, how), "}");
}

}  // namespace optima::onnx_io::recipes
