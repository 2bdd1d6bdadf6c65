// SPDX-License-Identifier: Apache-2.0
#include "core/quantize/aimet.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/graph/graph.hpp"
#include "core/quantize/own_format.hpp"
#include "core/support/json_value.hpp"
#include "core/support/text.hpp"

namespace optima::detail {
namespace {

/// What both versions say of one value.
struct Stated {
  bool is_float = false, is_symmetric = false, is_weight = false;
  int64_t bits = 0, block = 0;
  std::vector<double> scale, offset;
  std::vector<double> low, high;  // as many, or none
};

struct Type {
  int64_t bits;
  int32_t plain, symmetric, real;
};
constexpr Type kTypes[] = {
    {4, OPTIMA_U4, OPTIMA_I4, 0}, {8, OPTIMA_U8, OPTIMA_I8, 0}, {16, OPTIMA_U16, OPTIMA_I16, OPTIMA_F16}, {32, 0, OPTIMA_I32, OPTIMA_F32}};

Result<int32_t> type_of(const Stated& s, const std::string& place) {
  const auto at = std::find_if(std::begin(kTypes), std::end(kTypes), [&](const Type& t) { return t.bits == s.bits; });
  const int32_t type = at == std::end(kTypes) ? 0 : s.is_float ? at->real : s.is_symmetric ? at->symmetric : at->plain;
  if (type) return type;
  const std::string_view wanted = s.is_float ? "16 or 32 for floats" : "4, 8, 16, or 32 where symmetric";
  return invalid_input(cat(place, ": found ", s.bits, " bits, wanted ", wanted));
}

/// Symmetric with offset 0 and no negative end: codes of an unsigned type after all.
bool is_unsigned_symmetric(const Stated& s) {
  if (!s.is_symmetric || s.bits == 32 || std::any_of(s.offset.begin(), s.offset.end(), [](double o) { return o != 0; })) return false;
  if (s.low.empty()) return !s.is_weight;
  return std::all_of(s.low.begin(), s.low.end(), [](double low) { return low >= 0; });
}

Result<int32_t> zero_point_of(double offset, bool is_symmetric, int64_t bits, const std::string& place) {
  if (offset != std::round(offset)) return invalid_input(cat(place, ": found offset ", offset, ", wanted an integer"));
  const double least = -std::ldexp(1, static_cast<int>(bits) - 1);
  if (is_symmetric) {
    if (offset == least || offset == least + 1 || offset == 0) return 0;
    return invalid_input(cat(place, ": found offset ", offset, " of a symmetric encoding, wanted ", least, ", ", least + 1, " or 0"));
  }
  if (offset > 0 || offset <= 2 * least) return invalid_input(cat(place, ": found offset ", offset, ", wanted ", 2 * least + 1, "..0"));
  return static_cast<int32_t>(-offset);
}

// The ends of 65,536 steps may lie beyond the numbers that one step is of.
float within_f32(double x) {
  constexpr double kMost = std::numeric_limits<float>::max();
  return static_cast<float>(std::clamp(x, -kMost, kMost));
}

Result<Encoding> encoding_of(Stated s, const std::string& place) {
  if (is_unsigned_symmetric(s)) s.is_symmetric = false;
  Encoding out;
  OPTIMA_ASSIGN(out.dtype, type_of(s, place));
  if (s.is_float) return out;
  if (s.scale.size() != s.offset.size())
    return invalid_input(cat(place, ": found ", s.scale.size(), " scales and ", s.offset.size(), " offsets, wanted as many"));
  out.block = s.block;
  for (const double scale : s.scale) out.scale.push_back(static_cast<float>(scale));
  for (const double offset : s.offset) {
    OPTIMA_ASSIGN(const int32_t zero, zero_point_of(offset, s.is_symmetric, s.bits, place));
    out.zero_point.push_back(zero);
  }
  if (!s.low.empty()) {
    out.low = within_f32(*std::min_element(s.low.begin(), s.low.end()));
    out.high = within_f32(*std::max_element(s.high.begin(), s.high.end()));
  }
  OPTIMA_RETURN_IF_ERROR(check_encoding(out, place));
  return out;
}

/// true, false, "True" or "False"; false when missing.
Result<bool> truth(const JsonReader& at, const char* key) {
  if (!at.has(key)) return false;
  const Json& json = at.json()[key];
  if (json.is_boolean()) return json.get<bool>();
  if (json == "True" || json == "true") return true;
  if (json == "False" || json == "false") return false;
  return invalid_input(cat(at.place(), ".", key, ": found ", to_line(json), ", wanted true or false"));
}

Result<bool> is_float(const JsonReader& at) {
  OPTIMA_ASSIGN(const std::string name, at.string_or("dtype", "int"));
  if (name == "int" || name == "INT") return false;
  if (name == "float" || name == "FLOAT") return true;
  return invalid_input(cat(at.place(), ".dtype: found ", quote(name), ", wanted int or float"));
}

/// Scale and offset of what has min and max alone, as the converters make them: both ends moved so that zero is a code.
Status add_steps(const JsonReader& at, Stated& out) {
  const bool has_ends = at.has("min") && at.has("max");
  if (has_ends) {
    OPTIMA_ASSIGN(const double low, at.number("min"));
    OPTIMA_ASSIGN(const double high, at.number("max"));
    out.low.push_back(low), out.high.push_back(high);
  }
  if (at.has("scale") || !has_ends) {
    OPTIMA_ASSIGN(const double scale, at.number("scale"));
    OPTIMA_ASSIGN(const double offset, at.number("offset"));
    out.scale.push_back(scale), out.offset.push_back(offset);
    return {};
  }
  const double low = std::min(out.low.back(), 0.0), high = std::max(out.high.back(), 0.0);
  const double codes = std::ldexp(1, static_cast<int>(out.bits)), scale = (high - low) / (codes - 1);
  if (!(scale > 0)) return invalid_input(cat(at.place(), ": found min ", low, " and max ", high, ", wanted a range"));
  out.scale.push_back(out.is_symmetric ? std::max(-low, high) / (codes / 2 - 1) : scale);
  out.offset.push_back(out.is_symmetric ? -codes / 2 : std::round(low / scale));
  return {};
}

Result<Stated> read_channel(const JsonReader& at) {
  Stated out;
  OPTIMA_ASSIGN(out.bits, at.integer("bitwidth"));
  OPTIMA_ASSIGN(out.is_float, is_float(at));
  OPTIMA_ASSIGN(out.is_symmetric, truth(at, "is_symmetric"));
  OPTIMA_RETURN_IF_ERROR(type_of(out, at.place()).status());
  if (!out.is_float) OPTIMA_RETURN_IF_ERROR(add_steps(at, out));
  return out;
}

void append(std::vector<double>& to, const std::vector<double>& from) { to.insert(to.end(), from.begin(), from.end()); }

/// 0.x: a list of encodings, one a channel.
Result<Encoding> read_channels(const JsonReader& at, bool is_weight) {
  const Json& json = at.json();
  if (!json.is_array() || json.empty())
    return invalid_input(cat(at.place(), ": found ", json.is_array() ? "an empty list" : json.type_name(), ", wanted a list of encodings"));
  Stated all;
  for (size_t k = 0; k < json.size(); ++k) {
    const JsonReader channel(json[k], json.size() == 1 ? at.place() : cat(at.place(), ": channel ", k));
    OPTIMA_ASSIGN(Stated one, read_channel(channel));
    if (k > 0 && (one.bits != all.bits || one.is_float != all.is_float || one.is_symmetric != all.is_symmetric || one.low.empty() != all.low.empty()))
      return invalid_input(cat(channel.place(), ": found another kind of encoding than channel 0 has, wanted one kind for all"));
    all.bits = one.bits, all.is_float = one.is_float, all.is_symmetric = one.is_symmetric;
    append(all.scale, one.scale), append(all.offset, one.offset), append(all.low, one.low), append(all.high, one.high);
  }
  all.is_weight = is_weight;
  return encoding_of(std::move(all), at.place());
}

Result<std::vector<double>> numbers(const JsonReader& at, const char* key) {
  OPTIMA_ASSIGN(const std::vector<JsonReader> all, at.array(key));
  std::vector<double> out;
  for (const JsonReader& each : all) {
    if (!each.json().is_number()) return invalid_input(cat(each.place(), ": found ", to_line(each.json()), ", wanted a number"));
    out.push_back(each.json().get<double>());
  }
  return out;
}

/// How many scales and blocks an entry of 1.0.0 says that it has.
Status read_kind(const JsonReader& at, Stated& out) {
  OPTIMA_ASSIGN(const std::string kind, at.string_or("enc_type", out.scale.size() == 1 ? "PER_TENSOR" : "PER_CHANNEL"));
  if (kind != "PER_TENSOR" && kind != "PER_CHANNEL" && kind != "PER_BLOCK")
    return invalid_input(cat(at.place(), ".enc_type: found ", quote(kind), ", wanted PER_TENSOR, PER_CHANNEL or PER_BLOCK"));
  if (kind == "PER_TENSOR" && out.scale.size() != 1) return invalid_input(cat(at.place(), ": found ", out.scale.size(), " scales, wanted one for PER_TENSOR"));
  if (kind != "PER_BLOCK") return {};
  OPTIMA_ASSIGN(out.block, at.integer("block_size"));
  return out.block > 0 ? Status() : invalid_input(cat(at.place(), ".block_size: found ", out.block, ", wanted 1 or more"));
}

/// 1.0.0.
Result<Encoding> read_entry(const JsonReader& at, bool is_weight) {
  Stated out;
  out.is_weight = is_weight;
  OPTIMA_ASSIGN(out.bits, at.integer("bw"));
  OPTIMA_ASSIGN(out.is_float, is_float(at));
  OPTIMA_ASSIGN(out.is_symmetric, truth(at, "is_sym"));
  if (out.is_float) return encoding_of(std::move(out), at.place());
  OPTIMA_ASSIGN(out.scale, numbers(at, "scale"));
  OPTIMA_ASSIGN(out.offset, numbers(at, "offset"));
  OPTIMA_RETURN_IF_ERROR(read_kind(at, out));
  return encoding_of(std::move(out), at.place());
}

Status read_old(const JsonReader& root, const char* key, bool is_weight, std::map<std::string, Encoding>& out) {
  OPTIMA_ASSIGN(const auto members, root.members(key));
  for (const auto& [name, at] : members) {
    OPTIMA_ASSIGN(out[name], read_channels(JsonReader(at.json(), cat(root.place(), ": ", key, ": ", quote(name))), is_weight));
  }
  return {};
}

Status read_new(const JsonReader& root, const char* key, bool is_weight, std::map<std::string, Encoding>& out) {
  OPTIMA_ASSIGN(const std::vector<JsonReader> entries, root.array(key));
  for (const JsonReader& at : entries) {
    OPTIMA_ASSIGN(const std::string name, at.string("name"));
    const std::string place = cat(root.place(), ": ", key, ": ", quote(name));
    OPTIMA_ASSIGN(Encoding one, read_entry(JsonReader(at.json(), place), is_weight));
    if (!out.emplace(name, std::move(one)).second) return invalid_input(cat(place, ": was given before"));
  }
  return {};
}

Status read_all(const JsonReader& root, const char* key, bool is_weight, std::map<std::string, Encoding>& out) {
  if (!root.has(key)) return {};
  return root.json()[key].is_array() ? read_new(root, key, is_weight, out) : read_old(root, key, is_weight, out);
}

/// An encoding in the words of AIMET.
struct Words {
  int64_t bits = 0;
  bool is_float = false, is_symmetric = false;
  std::vector<int64_t> offset;
};

Result<Words> words_of(const std::string& name, const Encoding& e) {
  Words out;
  for (const Type& t : kTypes)
    if (e.dtype == t.plain || e.dtype == t.symmetric || e.dtype == t.real) out = {t.bits, e.dtype == t.real, e.dtype == t.symmetric, {}};
  if (out.bits == 0)
    return invalid_input(cat("value ", quote(name), ": found type ", short_dtype_name(e.dtype), ", wanted u4, i4, u8, i8, u16, i16, i32, f16 or f32 for AIMET"));
  for (const int32_t zero : e.zero_point) {
    if (out.is_symmetric && zero != 0)
      return invalid_input(cat("value ", quote(name), ": found zero point ", zero, " of ", short_dtype_name(e.dtype),
                               ", wanted 0 for AIMET, where signed is symmetric"));
    out.offset.push_back(out.is_symmetric ? -(int64_t{1} << (out.bits - 1)) : -int64_t{zero});
  }
  return out;
}

Result<Json> old_entry(const std::string& name, const Encoding& e) {
  OPTIMA_ASSIGN(const Words words, words_of(name, e));
  if (e.block > 0) return invalid_input(cat("value ", quote(name), ": found blocks of ", e.block, ", wanted one scale or one a channel for AIMET 0.6.1"));
  Json out = Json::array();
  if (words.is_float) out.push_back({{"bitwidth", words.bits}, {"dtype", "float"}});
  const double largest = std::ldexp(1, static_cast<int>(words.bits)) - 1;
  for (size_t k = 0; k < e.scale.size(); ++k) {
    const double scale = e.scale[k], offset = static_cast<double>(words.offset[k]);  // exact, or the ends would not be codes
    out.push_back({{"bitwidth", words.bits}, {"dtype", "int"}, {"is_symmetric", words.is_symmetric ? "True" : "False"}, {"max", (largest + offset) * scale},
                   {"min", offset * scale}, {"offset", words.offset[k]}, {"scale", scale}});
  }
  return out;
}

Result<Json> new_entry(const std::string& name, const Encoding& e) {
  OPTIMA_ASSIGN(const Words words, words_of(name, e));
  Json out = {{"name", name}, {"dtype", words.is_float ? "FLOAT" : "INT"}, {"bw", words.bits}};
  if (words.is_float) return out;
  out["enc_type"] = e.block > 0 ? "PER_BLOCK" : e.scale.size() > 1 || e.axis >= 0 ? "PER_CHANNEL" : "PER_TENSOR";
  if (e.block > 0) out["block_size"] = e.block;
  out["is_sym"] = words.is_symmetric;
  Json scales = Json::array();
  for (const float scale : e.scale) scales.push_back(shortest(scale));
  out["scale"] = std::move(scales);
  out["offset"] = words.offset;
  return out;
}

Result<Json> old_entries(const std::map<std::string, Encoding>& all) {
  Json out = Json::object();
  for (const auto& [name, e] : all) {
    OPTIMA_ASSIGN(Json entry, old_entry(name, e));
    append_member(out, name, std::move(entry));
  }
  return out;
}

Result<Json> new_entries(const std::map<std::string, Encoding>& all) {
  Json out = Json::array();
  for (const auto& [name, e] : all) {
    OPTIMA_ASSIGN(Json entry, new_entry(name, e));
    out.push_back(std::move(entry));
  }
  return out;
}

Result<std::string> document(const Encodings& encodings, const char* version, Result<Json> (*entries)(const std::map<std::string, Encoding>&)) {
  Json out = Json::object();
  out["version"] = version;
  OPTIMA_ASSIGN(out["activation_encodings"], entries(encodings.activations));
  OPTIMA_ASSIGN(out["param_encodings"], entries(encodings.weights));
  return to_text(out);
}

}  // namespace

Result<Encodings> parse_aimet(const Json& json, const std::string& path) {
  const JsonReader root(json, path);
  OPTIMA_ASSIGN(const std::string version, root.string_or("version", "0.4.0"));
  if (!version.starts_with("0.") && !version.starts_with("1."))
    return invalid_input(cat(path, ": found version ", quote(version), " of AIMET's encodings, wanted 0.x or 1.x"));
  Encodings out;
  OPTIMA_RETURN_IF_ERROR(read_all(root, "activation_encodings", false, out.activations));
  OPTIMA_RETURN_IF_ERROR(read_all(root, "param_encodings", true, out.weights));
  return out;
}

Result<std::string> write_aimet_old(const Encodings& encodings) { return document(encodings, "0.6.1", old_entries); }
Result<std::string> write_aimet_1(const Encodings& encodings) { return document(encodings, "1.0.0", new_entries); }

}  // namespace optima::detail
