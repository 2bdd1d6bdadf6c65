// SPDX-License-Identifier: Apache-2.0
// core/onnx_io: recipes of ai.onnx.ml: the list, and what several have in common. What each computes: ONNX's docs/Operators-ml.md; where
// that leaves a choice, as ONNX Runtime has it.
#include "core/onnx_io/classical.hpp"

#include <algorithm>
#include <array>

namespace optima::onnx_io {
namespace recipes {

Text as_type(const Contributed& n, const Text& in, int32_t to, int input) {
  return n.dtype(input) == to ? cat("Identity(", in, ") ") : cat("Cast <to = ", to, "> (", in, ") ");
}

Text samples(const Contributed& n, const Text& out, const Text& in, int32_t to) {
  const Text cast = as_type(n, in, to);
  if (n.rank(0) != 1) return cat(out, " = ", cast);
  return cat(out, "_1 = ", cast, out, "_axis = Constant <value_ints = [0]> () ", out, " = Unsqueeze(", out, "_1, ", out, "_axis) ");
}

namespace {

/// Softmax over what is not zero; zeros stay.
Text softmax_zero(const Text& out, const Text& in) {
  return cat("p_axis = Constant <value_ints = [1]> () p_least = Constant <value = float {1e-7}> () p_nought = Constant <value = float {0.0}> () "
             "p_size = Abs(", in, ") p_some = Greater(p_size, p_least) p_max = ReduceMax(", in, ", p_axis) p_less = Sub(", in, ", p_max) p_exp = Exp(p_less) "
             "p_kept = Where(p_some, p_exp, p_nought) p_sum = ReduceSum(p_kept, p_axis) ", out, " = Div(p_kept, p_sum) ");
}

/// sqrt(2) times the inverse error function of 2x - 1, by Winitzki's formula.
Text probit(const Text& out, const Text& in) {
  return cat("p_two = Constant <value = float {2.0}> () p_one = Constant <value = float {1.0}> () p_half = Constant <value = float {0.5}> () "
             "p_a = Constant <value = float {", number(2 / (3.14159 * 0.147)), "}> () p_b = Constant <value = float {", number(1 / 0.147), "}> () "
             "p_root = Constant <value = float {1.41421356}> () p_x2 = Mul(", in, ", p_two) p_x = Sub(p_x2, p_one) p_sign = Sign(p_x) p_sq = Mul(p_x, p_x) "
             "p_left = Sub(p_one, p_sq) p_log = Log(p_left) p_h = Mul(p_log, p_half) p_v = Add(p_a, p_h) p_v2 = Mul(p_log, p_b) p_vv = Mul(p_v, p_v) "
             "p_d = Sub(p_vv, p_v2) p_r = Sqrt(p_d) p_v3 = Sub(p_r, p_v) p_e = Sqrt(p_v3) p_s = Mul(p_e, p_sign) ", out, " = Mul(p_s, p_root) ");
}

}  // namespace

Text transformed(const Text& how, const Text& out, const Text& in) {
  if (how == "LOGISTIC") return cat(out, " = Sigmoid(", in, ") ");
  if (how == "SOFTMAX") return cat(out, " = Softmax <axis = 1> (", in, ") ");
  if (how == "SOFTMAX_ZERO") return softmax_zero(out, in);
  if (how == "PROBIT") return probit(out, in);
  return cat(out, " = Identity(", in, ") ");
}

Labels labels_of(const Contributed& n, const char* integers, const char* strings) { return {n.integers(integers), n.texts(strings)}; }

Text labelled(Contributed& n, const Labels& labels, const Text& out, const Text& at) {
  if (!labels.strings.empty()) return cat(out, " = Gather(", n.strings("labels", {labels.count()}, labels.strings), ", ", at, ") ");
  bool counted = true;
  for (size_t k = 0; k < labels.integers.size(); ++k) counted &= labels.integers[k] == static_cast<int64_t>(k);
  if (counted) return cat(out, " = Identity(", at, ") ");
  return cat(out, " = Gather(", integers(n, "labels", labels.integers, sizes(labels.integers)), ", ", at, ") ");
}

Text above(const Text& out, const Text& score, double limit) {
  return cat(out, "_limit = Constant <value = float {", number(limit), "}> () ", out, "_is = Greater(", score, ", ", out, "_limit) ", out,
             "_one = Cast <to = ", kI64, "> (", out, "_is) ", out, "_flat = Constant <value_ints = [-1]> () ", out, " = Reshape(", out, "_one, ", out, "_flat) ");
}

Text two_columns(const Text& out, const Text& score, bool opposite) {
  const Text other = opposite ? cat("c_one = Constant <value = float {1.0}> () c_other = Sub(c_one, ", score, ") ") : cat("c_other = Neg(", score, ") ");
  return cat(other, out, " = Concat <axis = 1> (c_other, ", score, ") ");
}

Text of_one(const Text& out, const Text& score, bool opposite, const Text& how) {
  if (how == "PROBIT") return cat(transformed(how, "c_p", score), "c_zero = Sub(c_p, c_p) ", out, " = Concat <axis = 1> (c_p, c_zero) ");
  if (how == "LOGISTIC") return cat(two_columns("c_both", score, false), transformed(how, out, "c_both"));
  return two_columns(out, score, opposite);
}

namespace {

Text maps_only(Contributed& n) { return n.refuse("a map is an operand, wanted tensors: maps are in no backend"); }

constexpr std::array kClassicalRecipes{
    Recipe{"ArrayFeatureExtractor", 2, 13, array_feature_extractor},
    Recipe{"Binarizer", 1, 15, binarizer},
    Recipe{"CastMap", 1, 1, maps_only},
    Recipe{"CategoryMapper", 1, 19, category_mapper},
    Recipe{"DictVectorizer", 1, 1, maps_only},
    Recipe{"FeatureVectorizer", 1, 13, feature_vectorizer},
    Recipe{"Imputer", 1, 13, imputer},
    Recipe{"LabelEncoder", 1, 19, label_encoder},
    Recipe{"LinearClassifier", 1, 18, linear_classifier},
    Recipe{"LinearRegressor", 1, 18, linear_regressor},
    Recipe{"Normalizer", 1, 18, normalizer},
    Recipe{"OneHotEncoder", 1, 19, one_hot_encoder},
    Recipe{"SVMClassifier", 1, 18, svm_classifier},
    Recipe{"SVMRegressor", 1, 18, svm_regressor},
    Recipe{"Scaler", 1, 13, scaler},
    Recipe{"TreeEnsemble", 1, 18, tree_ensemble},
    Recipe{"TreeEnsembleClassifier", 1, 18, tree_ensemble_classifier},
    Recipe{"TreeEnsembleRegressor", 1, 18, tree_ensemble_regressor},
};

}  // namespace
}  // namespace recipes

const Recipe* classical_recipe_of(const std::string& op) {
  const auto& all = recipes::kClassicalRecipes;
  const auto at = std::find_if(all.begin(), all.end(), [&](const Recipe& r) { return op == r.op; });
  return at == all.end() ? nullptr : &*at;
}

}  // namespace optima::onnx_io
