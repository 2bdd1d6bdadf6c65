// SPDX-License-Identifier: Apache-2.0
// core/onnx_io: recipes of ai.onnx.ml that change features one by one: Scaler, Normalizer, Binarizer, Imputer, ArrayFeatureExtractor,
// FeatureVectorizer.
#include <cmath>

#include "core/onnx_io/classical.hpp"

namespace optima::onnx_io::recipes {

/// (X - offset) * scale, in doubles where X has them.
Text scaler(Contributed& n) {
  const std::vector<float> offset = n.reals("offset"), scale = n.reals("scale");
  if (scale.empty() || offset.empty()) return n.refuse("attributes scale and offset, wanted one number at least in each");
  const bool wide = n.dtype(0) == kF64;
  const Text o = floats(n, "offset", offset, sizes(offset)), s = floats(n, "scale", scale, sizes(scale));
  if (!wide) return cat("(X) => (Y) { x = ", as_type(n, "X", kF32), "c = Sub(x, ", o, ") Y = Mul(c, ", s, ") }");
  return cat("(X) => (Y) { o = CastLike(", o, ", X) s = CastLike(", s, ", X) c = Sub(X, o) y = Mul(c, s) Y = Cast <to = ", kF32, "> (y) }");
}

/// A row by its greatest element, the sum of its sizes, or its length; a row of which that is 0 stays.
Text normalizer(Contributed& n) {
  const Text norm = n.text("norm", "MAX");
  const Text op = norm == "MAX" ? "ReduceMax" : norm == "L1" ? "ReduceL1" : norm == "L2" ? "ReduceL2" : "";
  if (op.empty()) return n.refuse(cat("attribute norm is ", quote(norm), ", wanted MAX, L1 or L2"));
  return cat("(X) => (Y) { x = ", as_type(n, "X", kF32), "axis = Constant <value_ints = [-1]> () zero = Constant <value = float {0.0}> () "
             "one = Constant <value = float {1.0}> () m = ", op, "(x, axis) none = Equal(m, zero) by = Where(none, one, m) Y = Div(x, by) }");
}

Text binarizer(Contributed& n) {
  return cat("(X) => (Y) { ", scalar("limit", n.real("threshold", 0), "X"), "is = Greater(X, limit) Y = CastLike(is, X) }");
}

Text imputer(Contributed& n) {
  const std::vector<float> reals = n.reals("imputed_value_floats");
  const std::vector<int64_t> whole = n.integers("imputed_value_int64s");
  if (reals.empty() == whole.empty()) return n.refuse("attributes imputed_value_floats and imputed_value_int64s, wanted one of them");
  const float gone = n.real("replaced_value_float", 0);
  const Text with = whole.empty() ? floats(n, "imputed", reals, sizes(reals)) : integers(n, "imputed", whole, sizes(whole));
  Text is = "is = IsNaN(X) ";
  if (!whole.empty()) is = cat("gone_i = Constant <value = int64 {", n.integer("replaced_value_int64", 0), "}> () gone = CastLike(gone_i, X) is = Equal(X, gone) ");
  else if (!std::isnan(gone)) is = cat(scalar("gone", gone, "X"), "is = Equal(X, gone) ");
  return cat("(X) => (Y) { ", is, "with = CastLike(", with, ", X) Y = Where(is, with, X) }");
}

/// Elements Y of the last axis of X; a vector becomes one row.
Text array_feature_extractor(Contributed& n) {
  const Text at = "flat = Constant <value_ints = [-1]> () at = Reshape(Y, flat) ";
  if (n.rank(0) != 1) return cat("(X, Y) => (Z) { ", at, "Z = Gather <axis = -1> (X, at) }");
  return cat("(X, Y) => (Z) { ", at, "z = Gather(X, at) row = Constant <value_ints = [0]> () Z = Unsqueeze(z, row) }");
}

/// Inputs side by side, each cut or filled with zeros to its size of inputdimensions.
Text feature_vectorizer(Contributed& n) {
  const Dims wanted = n.integers("inputdimensions");
  Text head, steps, all;
  for (int k = 0; k < n.inputs(); ++k) {
    const auto dims = n.dims(k);
    if (!dims || dims->empty() || dims->size() > 2) return "";
    const int64_t size = dims->size() == 2 ? (*dims)[1] : -1, to = static_cast<size_t>(k) < wanted.size() ? wanted[static_cast<size_t>(k)] : size;
    if (dims->size() == 2 && size != to) return n.refuse(cat("input ", k, " has ", size, " columns, attribute inputdimensions says ", to));
    head += cat(k ? ", X" : "X", k);
    steps += cat("f", k, " = ", as_type(n, cat("X", k), kF32, k));
    if (dims->size() == 1) steps += cat("a", k, " = Constant <value_ints = [", to == (*dims)[0] ? 0 : 1, "]> () r", k, " = Unsqueeze(f", k, ", a", k, ") ");
    all += cat(k ? ", " : "", dims->size() == 1 ? "r" : "f", k);
  }
  return cat("(", head, ") => (Y) { ", steps, "Y = Concat <axis = 1> (", all, ") }");
}

}  // namespace optima::onnx_io::recipes
