// SPDX-License-Identifier: Apache-2.0
#include "core/quantize/own_format.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/graph/graph.hpp"
#include "core/support/json_value.hpp"
#include "core/support/text.hpp"

namespace optima {
namespace {

constexpr std::string_view kFormat = "optima.encodings/1";
constexpr int32_t kTypes[] = {OPTIMA_U8, OPTIMA_I8, OPTIMA_U16, OPTIMA_I16, OPTIMA_U4, OPTIMA_I4, OPTIMA_I32, OPTIMA_F32, OPTIMA_F16, OPTIMA_BF16};

/// A number where there is one or all are the same and `one_for_all`, else a list.
template <class T, class F>
Json numbers(const std::vector<T>& all, bool one_for_all, F&& number) {
  if (all.size() == 1 || (one_for_all && std::equal(all.begin() + 1, all.end(), all.begin()))) return number(all[0]);
  Json out = Json::array();
  for (const T& each : all) out.push_back(number(each));
  return out;
}

Json to_json(const Encoding& e) {
  Json out = Json::object();
  out["dtype"] = short_dtype_name(e.dtype);
  if (e.axis >= 0) out["axis"] = e.axis;
  if (e.block > 0) out["block"] = e.block;
  if (!e.scale.empty()) out["scale"] = numbers(e.scale, false, detail::shortest);
  if (!e.zero_point.empty()) out["zero_point"] = numbers(e.zero_point, true, [](int32_t z) { return z; });
  if (e.low != 0 || e.high != 0) out["range"] = {detail::shortest(e.low), detail::shortest(e.high)};
  return out;
}

Json to_json(const std::map<std::string, Encoding>& all) {
  Json out = Json::object();
  for (const auto& [name, encoding] : all) append_member(out, name, to_json(encoding));
  return out;
}

void add(Json& out, const char* key, const std::string& text) {
  if (!text.empty()) out[key] = text;
}

Result<int32_t> dtype_of(const JsonReader& at) {
  OPTIMA_ASSIGN(const std::string name, at.string("dtype"));
  for (const int32_t type : kTypes)
    if (short_dtype_name(type) == name) return type;
  return invalid_input(cat(at.place(), ".dtype: found ", quote(name), ", wanted u8, i8, u16, i16, u4, i4, i32, f32, f16 or bf16"));
}

/// One number or a list of them, each in T's range.
template <class T>
Result<std::vector<T>> numbers(const JsonReader& at, const char* key) {
  std::vector<T> out;
  if (!at.has(key)) return out;
  const Json& json = at.json()[key];
  const Json list = json.is_array() ? json : Json::array({json});
  for (const Json& each : list) {
    const bool right = std::is_integral_v<T> ? each.is_number_integer() : each.is_number();
    if (!right) return invalid_input(cat(at.place(), ".", key, ": found ", to_line(each), ", wanted ", std::is_integral_v<T> ? "an integer" : "a number"));
    const double value = each.get<double>();
    if (std::is_integral_v<T> && !(value >= INT32_MIN && value <= INT32_MAX))
      return invalid_input(cat(at.place(), ".", key, ": found ", to_line(each), ", wanted a number of 32 bits"));
    out.push_back(static_cast<T>(value));
  }
  return out;
}

template <class T>
Status integer(const JsonReader& at, const char* key, T& out, int64_t most) {
  if (!at.has(key)) return {};
  OPTIMA_ASSIGN(const int64_t value, at.integer(key));
  if (value < 0 || value > most) return invalid_input(cat(at.place(), ".", key, ": found ", value, ", wanted 0..", most));
  out = static_cast<T>(value);
  return {};
}

Result<Encoding> encoding_of(const JsonReader& at) {
  OPTIMA_RETURN_IF_ERROR(at.only({"dtype", "axis", "block", "scale", "zero_point", "range"}));
  Encoding out;
  OPTIMA_ASSIGN(out.dtype, dtype_of(at));
  OPTIMA_RETURN_IF_ERROR(integer(at, "axis", out.axis, 63));
  OPTIMA_RETURN_IF_ERROR(integer(at, "block", out.block, int64_t{1} << 40));
  OPTIMA_ASSIGN(out.scale, numbers<float>(at, "scale"));
  OPTIMA_ASSIGN(out.zero_point, numbers<int32_t>(at, "zero_point"));
  if (out.zero_point.size() == 1 && !out.scale.empty()) out.zero_point.resize(out.scale.size(), out.zero_point[0]);
  OPTIMA_ASSIGN(const std::vector<float> range, numbers<float>(at, "range"));
  if (!range.empty() && range.size() != 2) return invalid_input(cat(at.place(), ".range: found ", range.size(), " numbers, wanted 2"));
  if (!range.empty()) out.low = range[0], out.high = range[1];
  OPTIMA_RETURN_IF_ERROR(check_encoding(out, at.place()));
  return out;
}

Status read_all(const JsonReader& root, const char* key, std::map<std::string, Encoding>& out) {
  if (!root.has(key)) return {};
  OPTIMA_ASSIGN(const auto members, root.members(key));
  for (const auto& [name, at] : members) {
    OPTIMA_ASSIGN(out[name], encoding_of(JsonReader(at.json(), cat(root.place(), ": ", key, ": ", quote(name)))));
  }
  return {};
}

// name -> numbers, of which each must be one that `allows` takes: `wanted` in words.
Status read_numbers(const JsonReader& root, const char* key, bool (*allows)(float), const char* wanted, std::map<std::string, std::vector<float>>& out) {
  if (!root.has(key)) return {};
  OPTIMA_ASSIGN(const JsonReader all, root.object(key));
  OPTIMA_ASSIGN(const auto members, root.members(key));
  for (const auto& [name, unused] : members) {
    OPTIMA_ASSIGN(out[name], numbers<float>(all, name.c_str()));
    for (const float by : out[name])
      if (!allows(by)) return invalid_input(cat(all.place(), ": ", quote(name), ": found ", by, ", wanted ", wanted));
  }
  return {};
}

Status read_left_float(const JsonReader& root, std::vector<LeftFloat>& out) {
  if (!root.has("left_float")) return {};
  OPTIMA_ASSIGN(const auto all, root.array("left_float"));
  for (const JsonReader& at : all) {
    OPTIMA_RETURN_IF_ERROR(at.only({"node", "why"}));
    LeftFloat one;
    OPTIMA_ASSIGN(one.node, at.string("node"));
    OPTIMA_ASSIGN(one.why, at.string_or("why", ""));
    out.push_back(std::move(one));
  }
  return {};
}

}  // namespace

double detail::shortest(float value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  double out = value;
  (void)std::from_chars(text, end, out);
  return out;
}

Json to_json(const Encodings& encodings) {
  Json out = Json::object();
  out["format"] = kFormat;
  add(out, "model_hash", encodings.model_hash);
  add(out, "data_hash", encodings.data_hash);
  add(out, "precision", encodings.precision);
  add(out, "scheme", encodings.scheme);
  add(out, "range", encodings.range);
  if (encodings.samples > 0) out["samples"] = encodings.samples;
  out["activations"] = to_json(encodings.activations);
  out["weights"] = to_json(encodings.weights);
  if (!encodings.smoothed.empty()) {
    Json& smoothed = out["smoothed"] = Json::object();
    for (const auto& [name, by] : encodings.smoothed) append_member(smoothed, name, numbers(by, false, detail::shortest));
  }
  if (!encodings.corrected.empty()) {
    Json& corrected = out["corrected"] = Json::object();
    for (const auto& [name, by] : encodings.corrected) append_member(corrected, name, numbers(by, false, detail::shortest));
  }
  if (encodings.left_float.empty()) return out;
  Json& left = out["left_float"] = Json::array();
  for (const LeftFloat& each : encodings.left_float) left.push_back({{"node", each.node}, {"why", each.why}});
  return out;
}

Result<Encodings> detail::parse_own_format(const Json& json, const std::string& path) {
  const JsonReader root(json, path);
  OPTIMA_ASSIGN(const std::string format, root.string("format"));
  if (format != kFormat) return invalid_input(cat(path, ": found format ", quote(format), ", wanted ", kFormat));
  OPTIMA_RETURN_IF_ERROR(root.only({"format", "model_hash", "data_hash", "precision", "scheme", "range", "samples", "activations", "weights", "smoothed", "corrected", "left_float"}));
  Encodings out;
  OPTIMA_ASSIGN(out.model_hash, root.string_or("model_hash", ""));
  OPTIMA_ASSIGN(out.data_hash, root.string_or("data_hash", ""));
  OPTIMA_ASSIGN(out.precision, root.string_or("precision", ""));
  OPTIMA_ASSIGN(out.scheme, root.string_or("scheme", ""));
  OPTIMA_ASSIGN(out.range, root.string_or("range", ""));
  OPTIMA_RETURN_IF_ERROR(integer(root, "samples", out.samples, INT64_MAX));
  OPTIMA_RETURN_IF_ERROR(read_all(root, "activations", out.activations));
  OPTIMA_RETURN_IF_ERROR(read_all(root, "weights", out.weights));
  OPTIMA_RETURN_IF_ERROR(read_numbers(root, "smoothed", [](float by) { return by > 0 && std::isfinite(by); }, "finite numbers above 0", out.smoothed));
  OPTIMA_RETURN_IF_ERROR(read_numbers(root, "corrected", [](float by) { return std::isfinite(by); }, "finite numbers", out.corrected));
  OPTIMA_RETURN_IF_ERROR(read_left_float(root, out.left_float));
  return out;
}

}  // namespace optima
