// SPDX-License-Identifier: Apache-2.0
// core/onnx_io: recipes of ai.onnx.ml that look values up among keys: LabelEncoder, CategoryMapper, OneHotEncoder. Keys in a row (3, 4, 5 ...)
// are counted; others are compared with, all at once.
#include <cmath>
#include <limits>
#include <optional>

#include "core/onnx_io/classical.hpp"

namespace optima::onnx_io::recipes {
namespace {

/// Keys or values: a vector of one type under one name.
struct Column {
  int32_t dtype = 0;
  int64_t count = 0;
  Text name;                     ///< of the constant
  std::vector<int64_t> integers; ///< when these
  bool nan = false;              ///< one of the floats is none
};

Column of_tensor(Contributed& n, const char* name, const AttributeTensor& t) {
  Column c{t.dtype, static_cast<int64_t>(t.strings.size()), "", {}, false};
  if (t.dtype != kString) {
    c.count = 1;
    for (const int64_t d : t.dims) c.count *= d;
  }
  const Dims flat{c.count};
  c.name = t.dtype == kString ? n.strings(name, flat, t.strings) : n.constant(name, t.dtype, flat, t.bytes);
  const auto at = [&](auto like, int64_t k) { return std::memcpy(&like, t.bytes.data() + static_cast<size_t>(k) * sizeof like, sizeof like), like; };
  for (int64_t k = 0; k < c.count; ++k) {
    if (t.dtype == kI64) c.integers.push_back(at(int64_t{}, k));
    if (t.dtype == kF32) c.nan |= std::isnan(at(float{}, k));
    if (t.dtype == kF64) c.nan |= std::isnan(at(double{}, k));
  }
  return c;
}

/// Of the attributes keys_strings, keys_int64s, keys_floats and keys_tensor (or values_...) the one that is there.
Column column(Contributed& n, const char* name, const std::string& stem) {
  const auto words = n.texts((stem + "_strings").c_str());
  const auto whole = n.integers((stem + "_int64s").c_str());
  const auto reals = n.reals((stem + "_floats").c_str());
  Column c;
  if (!words.empty()) {
    c = {kString, sizes(words)[0], n.strings(name, sizes(words), words), {}, false};
  } else if (!whole.empty()) {
    c = {kI64, sizes(whole)[0], integers(n, name, whole, sizes(whole)), whole, false};
  } else if (!reals.empty()) {
    c = {kF32, sizes(reals)[0], floats(n, name, reals, sizes(reals)), {}, false};
    for (const float v : reals) c.nan |= std::isnan(v);
  } else if (const auto t = n.tensor((stem + "_tensor").c_str())) {
    c = of_tensor(n, name, *t);
  }
  return c;
}

Text default_of(Contributed& n, int32_t dtype) {
  const auto t = n.tensor("default_tensor");
  if (dtype == kString) return n.strings("other", {}, {t && t->strings.size() == 1 ? t->strings[0] : n.text("default_string", "_Unused")});
  if (t && t->dtype == dtype && t->bytes.size() <= 8 && !t->bytes.empty()) return n.constant("other", dtype, {}, t->bytes);
  if (dtype == kI64) return integers(n, "other", {n.integer("default_int64", -1)}, {});
  if (dtype == kF32) return floats(n, "other", {n.real("default_float", -0.0f)}, {});
  const std::vector<double> zero{-0.0};
  if (dtype == kF64) return table(n, "other", dtype, {}, zero);
  return n.constant("other", dtype, {}, std::string(dtype == onnx::TensorProto::INT16 ? 2 : 4, '\xff'));
}

std::optional<int64_t> first_of_row(const std::vector<int64_t>& keys) {
  for (size_t k = 1; k < keys.size(); ++k)
    if (keys[k] - 1 != keys[k - 1]) return std::nullopt;
  return keys.empty() ? std::nullopt : std::optional(keys[0]);
}

/// `at`: the number of the key that x is, any where `known` is false.
Text search(const Column& keys, const Text& x) {
  if (const auto first = first_of_row(keys.integers))
    return cat("k_first = Constant <value = int64 {", *first, "}> () k_last = Constant <value = int64 {", *first + keys.count - 1, "}> () k_low = GreaterOrEqual(", x,
               ", k_first) k_high = LessOrEqual(", x, ", k_last) known = And(k_low, k_high) k_in = Where(known, ", x, ", k_first) at = Sub(k_in, k_first) ");
  Text equal = "Equal(k_x, " + keys.name + ") ";
  if (keys.nan) equal = cat("Equal(k_x, ", keys.name, ") k_xn = IsNaN(k_x) k_kn = IsNaN(", keys.name, ") k_nn = And(k_xn, k_kn) k_is = Or(k_eq, k_nn) ");
  return cat("k_last = Constant <value_ints = [-1]> () k_x = Unsqueeze(", x, ", k_last) ", keys.nan ? "k_eq = " : "k_is = ", equal,
             "k_one = Cast <to = ", kI32, "> (k_is) at = ArgMax <axis = -1, keepdims = 0> (k_one) k_any = ReduceMax <keepdims = 0> (k_one, k_last) known = Cast <to = ",
             kBool, "> (k_any) ");
}

Text looked_up(Contributed& n, const Column& keys, const Column& values, const Text& before = "", const Text& x = "X") {
  const Text other = default_of(n, values.dtype);
  return cat("(X) => (Y) { ", before, search(keys, x), "y = Gather(", values.name, ", at) Y = Where(known, y, ", other, ") }");
}

/// Strings and their places in one list, whichever way X asks.
Text by_place(Contributed& n, const std::vector<std::string>& words, const char* attribute) {
  if (words.empty()) return n.refuse(cat("attribute ", attribute, " is not there, wanted strings"));
  std::vector<int64_t> places;
  for (size_t k = 0; k < words.size(); ++k) places.push_back(static_cast<int64_t>(k));
  const Column names{kString, sizes(words)[0], n.strings("names", sizes(words), words), {}, false};
  const Column numbers{kI64, sizes(words)[0], integers(n, "numbers", places, sizes(places)), places, false};
  return n.dtype(0) == kString ? looked_up(n, names, numbers) : looked_up(n, numbers, names);
}

}  // namespace

Text label_encoder(Contributed& n) {
  if (n.dtype(0) == 0) return "";
  if (const auto words = n.texts("classes_strings"); !words.empty()) return by_place(n, words, "classes_strings");
  const Column keys = column(n, "keys", "keys"), values = column(n, "values", "values");
  if (keys.count < 1 || keys.count != values.count) return n.refuse(cat("attributes keys_* and values_* have ", keys.count, " and ", values.count, " elements, wanted equally many"));
  if (keys.dtype != n.dtype(0)) return n.refuse(cat("attributes keys_* are of element type ", keys.dtype, ", the input is of ", n.dtype(0)));
  return looked_up(n, keys, values);
}

Text category_mapper(Contributed& n) {
  const std::vector<std::string> words = n.texts("cats_strings");
  const std::vector<int64_t> whole = n.integers("cats_int64s");
  if (n.dtype(0) == 0) return "";
  if (words.empty() || words.size() != whole.size())
    return n.refuse(cat("attributes cats_strings and cats_int64s have ", words.size(), " and ", whole.size(), " elements, wanted equally many"));
  const Column names{kString, sizes(words)[0], n.strings("names", sizes(words), words), {}, false};
  const Column numbers{kI64, sizes(whole)[0], integers(n, "numbers", whole, sizes(whole)), whole, false};
  return n.dtype(0) == kString ? looked_up(n, names, numbers) : looked_up(n, numbers, names);
}

/// A row of zeros for what is no category; with zeros = 0 ONNX wants an error there, which no tensor can say.
Text one_hot_encoder(Contributed& n) {
  const std::vector<std::string> words = n.texts("cats_strings");
  const std::vector<int64_t> whole = n.integers("cats_int64s");
  if (words.empty() == whole.empty()) return n.refuse("attributes cats_strings and cats_int64s, wanted one of them");
  const Text keys = words.empty() ? integers(n, "cats", whole, sizes(whole)) : n.strings("cats", sizes(words), words);
  const Text x = cat("x = ", as_type(n, "X", words.empty() ? kI64 : kString));
  return cat("(X) => (Y) { ", x, "last = Constant <value_ints = [-1]> () k = Unsqueeze(x, last) is = Equal(k, ", keys, ") Y = Cast <to = ", kF32, "> (is) }");
}

}  // namespace optima::onnx_io::recipes
