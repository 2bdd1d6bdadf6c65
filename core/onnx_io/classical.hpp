// SPDX-License-Identifier: Apache-2.0
// core/onnx_io: pieces of the recipes of ai.onnx.ml. Private to the room.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "core/onnx_io/contributed_text.hpp"

namespace optima::onnx_io::recipes {

/// A constant of the recipe, as its name in the text.
template <class T>
Text table(Contributed& n, const char* name, int32_t dtype, const Dims& dims, const std::vector<T>& values) {
  return n.constant(name, dtype, dims, std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)));
}
inline Text floats(Contributed& n, const char* name, const std::vector<float>& values, const Dims& dims) { return table(n, name, kF32, dims, values); }
inline Text integers(Contributed& n, const char* name, const std::vector<int64_t>& values, const Dims& dims) { return table(n, name, kI64, dims, values); }
template <class T>
Dims sizes(const std::vector<T>& values) {
  return {static_cast<int64_t>(values.size())};
}

/// A scalar float.
inline Text value(const Text& name, double v) { return cat(name, " = Constant <value = float {", number(v), "}> () "); }
/// The step "Cast(in)" of an input, where it is not of that type.
Text as_type(const Contributed& n, const Text& in, int32_t to, int input = 0);
/// `out` [N, F] of floats, of input 0, whose rank is 1 for one sample; `to` is kF32, or kF64.
Text samples(const Contributed& n, const Text& out, const Text& in, int32_t to = kF32);

/// What is done with scores [N, K] at last: NONE, LOGISTIC, SOFTMAX, SOFTMAX_ZERO or PROBIT, by ONNX's operator pages. SOFTMAX_ZERO leaves
/// zeros zero, PROBIT is the approximation of the inverse error function that ONNX Runtime has.
Text transformed(const Text& how, const Text& out, const Text& in);

/// Labels of a classifier, as integers or strings under the names of two attributes.
struct Labels {
  std::vector<int64_t> integers;
  std::vector<std::string> strings;
  int64_t count() const { return static_cast<int64_t>(strings.empty() ? integers.size() : strings.size()); }
};
Labels labels_of(const Contributed& n, const char* integers, const char* strings);
/// `out` [N] of the numbers `at` [N] of labels.
Text labelled(Contributed& n, const Labels& labels, const Text& out, const Text& at);
/// `out` [N], 1 where `score` [N, 1] is greater than the limit, else 0.
Text above(const Text& out, const Text& score, double limit);
/// Both columns of two classes, of the score [N, 1] of one; `opposite`: 1 - s, else -s.
Text two_columns(const Text& out, const Text& score, bool opposite);
/// The same, transformed; a PROBIT has no second column but zeros.
Text of_one(const Text& out, const Text& score, bool opposite, const Text& how);

/// `out` [N, K]: probabilities of the classes, from the scores "s" [N, pairs] and two numbers for each pair: that of the first is
/// 1 - sigmoid(a s + b). Uses names that begin with q_, and more.
Text coupled(Contributed& n, int64_t classes, const std::vector<float>& a, const std::vector<float>& b, const Text& out);

Text array_feature_extractor(Contributed& n);
Text binarizer(Contributed& n);
Text category_mapper(Contributed& n);
Text feature_vectorizer(Contributed& n);
Text imputer(Contributed& n);
Text label_encoder(Contributed& n);
Text linear_classifier(Contributed& n);
Text linear_regressor(Contributed& n);
Text normalizer(Contributed& n);
Text one_hot_encoder(Contributed& n);
Text scaler(Contributed& n);
Text svm_classifier(Contributed& n);
Text svm_regressor(Contributed& n);
Text tree_ensemble(Contributed& n);
Text tree_ensemble_classifier(Contributed& n);
Text tree_ensemble_regressor(Contributed& n);

}  // namespace optima::onnx_io::recipes
