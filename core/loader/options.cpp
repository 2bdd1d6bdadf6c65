// SPDX-License-Identifier: Apache-2.0
// core/loader: options, from text to the seam.
#include "core/loader/options.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>

#include "core/loader/seam.hpp"
#include "core/loader/secrets.hpp"
#include "core/support/file.hpp"
#include "core/support/json.hpp"
#include "core/support/json_value.hpp"
#include "core/support/number.hpp"
#include "core/support/sha256.hpp"
#include "core/support/text.hpp"

namespace optima {

namespace {

Status wrong(const OptionSchema& schema, std::string_view found, std::string_view wanted) {
  if (schema.secret) return invalid_input(cat("option ", quote(schema.name), ": its value, which is secret, is not ", wanted));
  return invalid_input(cat("option ", quote(schema.name), ": found ", quote(found), ", wanted ", wanted));
}

std::string number_text(double d) { return d == std::floor(d) && std::abs(d) < 1e15 ? std::to_string(static_cast<int64_t>(d)) : cat(d); }

std::string bounds(const OptionSchema& s) {
  if (s.has_min && s.has_max) return cat(" within ", number_text(s.min), "..", number_text(s.max));
  if (s.has_min) return cat(" of at least ", number_text(s.min));
  if (s.has_max) return cat(" of at most ", number_text(s.max));
  return "";
}

// The bound that an outlier is nearest to, for the end of a message.
std::string nearest_bound(const OptionSchema& s, double v) {
  if (s.secret) return "";
  if (s.has_min && v < s.min) return cat(" (nearest: ", number_text(s.min), ")");
  if (s.has_max && v > s.max) return cat(" (nearest: ", number_text(s.max), ")");
  return "";
}

bool outside(const OptionSchema& s, double v) { return (s.has_min && v < s.min) || (s.has_max && v > s.max); }

constexpr const char* kBitSet = "bits";  // a type that manifests have not: a number of 64 bits, hexadecimal or decimal

Result<TypedOption> parse_bits(const OptionSchema& s, std::string_view text, TypedOption out) {
  out.type = OPTIMA_OPTION_I64;
  const bool hex = text.starts_with("0x") || text.starts_with("0X");
  const std::string_view digits = text.substr(hex ? 2 : 0);
  uint64_t bits = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bits, hex ? 16 : 10);
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size()) return wrong(s, text, "a bit set of 64 bits, such as 0xf0 or 240");
  out.i64 = static_cast<int64_t>(bits);
  return out;
}

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    parts.emplace_back(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return parts;
}

Result<TypedOption> parse_bool(const OptionSchema& s, std::string_view text, TypedOption out) {
  out.type = OPTIMA_OPTION_I64;
  for (std::string_view yes : {"true", "on", "yes", "1"})
    if (text == yes) return out.i64 = 1, out;
  for (std::string_view no : {"false", "off", "no", "0"})
    if (text == no) return out;
  return wrong(s, text, "true or false");
}

Result<TypedOption> parse_bytes(const OptionSchema& s, std::string_view text, TypedOption out) {
  out.type = OPTIMA_OPTION_BYTES;
  for (size_t i = 0; i < text.size(); i += 2) {
    unsigned byte = 0;
    const std::string_view pair = text.substr(i, 2);
    const auto [end, error] = std::from_chars(pair.data(), pair.data() + pair.size(), byte, 16);
    if (pair.size() != 2 || error != std::errc() || end != pair.data() + 2) return wrong(s, text, "pairs of hexadecimal digits");
    out.text += static_cast<char>(byte);
  }
  return out;
}

Result<TypedOption> parse_text(const OptionSchema& s, std::string_view text, TypedOption out) {
  out.type = OPTIMA_OPTION_STR;
  out.text = text;
  if (s.type == "enum" && std::find(s.values.begin(), s.values.end(), text) == s.values.end())
    return wrong(s, text, cat("one of ", join(s.values), s.secret ? "" : nearest_hint(text, s.values)));
  if (s.type == "path" && !text.empty()) {
    std::error_code error;
    out.text = std::filesystem::absolute(expand_home(text), error).string();
  }
  return out;
}

OptionSchema own(const char* name, const char* type, const char* scope, const char* doc, const char* default_text) {
  OptionSchema s;
  s.name = name, s.type = type, s.scope = scope, s.doc = doc, s.default_text = default_text;
  return s;
}

/// The host's own, for every plugin; scope compile is load's too.
const std::array<OptionSchema, 4>& own_schemas() {
  static const std::array<OptionSchema, 4> all = [] {
    OptionSchema threads = own(OPTIMA_OPTION_THREADS, "int", "compile", "most threads to use, 0 = all", "0");
    threads.has_min = threads.has_max = true, threads.max = 4096;
    OptionSchema deterministic = own(OPTIMA_OPTION_DETERMINISTIC, "bool", "compile", "same input, same bytes", "true");
    deterministic.changes_artifact = true;
    OptionSchema priority = own(OPTIMA_OPTION_PRIORITY, "int", "context", "among contexts of a device: -100 = last, 100 = first", "0");
    priority.has_min = priority.has_max = true, priority.min = -100, priority.max = 100;
    return std::array{threads, deterministic, priority, own(OPTIMA_OPTION_CORES, kBitSet, "context", "bit set of the cores that may work, 0 = all", "0")};
  }();
  return all;
}

bool value_of(const OptionSchema& schema, const OptionValues& values, std::string* text) {
  const auto it = values.find(schema.name);
  if (it == values.end()) return default_of(schema, text);
  *text = it->second;
  return true;
}

void append(std::vector<TypedOption>& out, const OptionSchema& schema, const OptionValues& values) {
  std::string text;
  if (!value_of(schema, values, &text)) return;
  if (auto typed = parse_option(schema, text); typed.ok()) out.push_back(std::move(*typed));
}

std::string_view owner_of(std::string_view name, std::span<const Manifest* const> manifests) {
  std::string_view best;
  for (const Manifest* m : manifests)
    if (name.size() > m->id.size() && name.starts_with(m->id) && name[m->id.size()] == '.' && m->id.size() > best.size()) best = m->id;
  return best;
}

Status unknown_option(const std::string& name, std::span<const Manifest* const> manifests) {
  std::vector<std::string> names, ids;
  for (const OptionSchema& s : own_schemas()) names.push_back(s.name);
  for (const Manifest* m : manifests) {
    ids.push_back(m->id);
    for (const OptionSchema& s : m->options) names.push_back(s.name);
  }
  for (auto* list : {&names, &ids}) {
    std::sort(list->begin(), list->end());
    list->erase(std::unique(list->begin(), list->end()), list->end());
  }
  const std::string prefix = name.substr(0, name.find('.'));
  if (name.find('.') == name.npos) return invalid_input(cat("option ", quote(name), ": wanted plugin.key", nearest_hint(name, names)));
  if (prefix != "optima" && owner_of(name, manifests).empty())
    return invalid_input(cat("option ", quote(name), ": no usable plugin ", quote(prefix), nearest_hint(prefix, ids)));
  return invalid_input(cat("unknown option ", quote(name), nearest_hint(name, names)));
}

}  // namespace

bool default_of(const OptionSchema& schema, std::string* text) {
  if (schema.default_text.empty()) return false;
  const auto json = parse_json(schema.default_text, schema.name);
  if (!json.ok() || json->is_null()) return false;
  if (json->is_string()) {
    *text = json->get<std::string>();
    return !text->empty() || schema.type == "string" || schema.type == "path" || schema.type == "list" || schema.type == "bytes";
  }
  if (json->is_array()) {
    text->clear();
    for (const Json& item : *json) *text += cat(text->empty() ? "" : ",", item.is_string() ? item.get<std::string>() : item.dump());
    return true;
  }
  *text = json->dump();
  return true;
}

Result<TypedOption> parse_option(const OptionSchema& schema, std::string_view text) {
  TypedOption out;
  out.name = schema.name;
  if (schema.type == "bool") return parse_bool(schema, text, std::move(out));
  if (schema.type == "bytes") return parse_bytes(schema, text, std::move(out));
  if (schema.type == kBitSet) return parse_bits(schema, text, std::move(out));
  if (schema.type == "int") {
    out.type = OPTIMA_OPTION_I64;
    const std::optional<int64_t> value = parse_number<int64_t>(text);
    if (!value) return wrong(schema, text, cat("an integer", bounds(schema)));
    out.i64 = *value;
    if (const auto v = static_cast<double>(out.i64); outside(schema, v)) return wrong(schema, text, cat("an integer", bounds(schema), nearest_bound(schema, v)));
    return out;
  }
  if (schema.type == "float") {
    out.type = OPTIMA_OPTION_F64;
    const std::optional<double> value = parse_number<double>(text);
    if (!value) return wrong(schema, text, cat("a number", bounds(schema)));
    out.f64 = *value;
    if (outside(schema, out.f64)) return wrong(schema, text, cat("a number", bounds(schema), nearest_bound(schema, out.f64)));
    return out;
  }
  if (schema.type == "list") {
    out.type = OPTIMA_OPTION_LIST;
    out.list = split(text);
    return out;
  }
  return parse_text(schema, text, std::move(out));
}

OptionList::OptionList(std::vector<TypedOption> options) : typed_(std::move(options)) {
  lists_.reserve(typed_.size());
  for (const TypedOption& t : typed_) {
    optima_option raw{};
    raw.struct_size = sizeof raw;
    raw.type = t.type;
    raw.name = seam::str(t.name);
    raw.i64 = t.i64;
    raw.f64 = t.f64;
    raw.str = seam::str(t.text);
    auto& items = lists_.emplace_back();
    for (const std::string& item : t.list) {
      optima_option element{};
      element.struct_size = sizeof element;
      element.type = OPTIMA_OPTION_STR;
      element.str = seam::str(item);
      items.push_back(element);
    }
    raw.list = items.data();
    raw.list_count = static_cast<uint32_t>(items.size());
    raw_.push_back(raw);
  }
}

std::vector<TypedOption> options_for(const Manifest& manifest, std::string_view scope, const OptionValues& values, int64_t threads) {
  std::vector<TypedOption> out;
  for (const OptionSchema& s : manifest.options)
    if (s.scope == scope) append(out, s, values);
  for (const OptionSchema& s : own_schemas()) {
    if (s.scope != (scope == "load" ? "compile" : scope)) continue;
    append(out, s, values);
    if (s.name == OPTIMA_OPTION_THREADS && threads >= 0 && values.find(s.name) == values.end()) out.back().i64 = threads;
  }
  return out;
}

std::vector<std::string> options_set(const Manifest& manifest, std::string_view scope, const OptionValues& values) {
  std::vector<std::string> out;
  const auto add = [&](const OptionSchema& s) {
    if (s.scope == scope && values.find(s.name) != values.end()) out.push_back(s.name);
  };
  for (const OptionSchema& s : manifest.options) add(s);
  for (const OptionSchema& s : own_schemas()) add(s);
  return out;
}

Status check_options(const OptionValues& values, std::span<const Manifest* const> manifests) {
  for (const auto& [name, text] : values) {
    bool known = false;
    const auto check = [&](std::span<const OptionSchema> schemas) -> Status {
      for (const OptionSchema& s : schemas)
        if (s.name == name) {
          OPTIMA_RETURN_IF_ERROR(parse_option(s, text).status());
          known = true;
        }
      return {};
    };
    OPTIMA_RETURN_IF_ERROR(check(own_schemas()));
    for (const Manifest* m : manifests) OPTIMA_RETURN_IF_ERROR(check(m->options));
    if (!known) return unknown_option(name, manifests);
  }
  return {};
}

void keep_secrets(const OptionValues& values, std::span<const Manifest* const> manifests) {
  for (const Manifest* m : manifests)
    for (const OptionSchema& s : m->options)
      if (const auto at = values.find(s.name); s.secret && at != values.end()) {
        keep_secret(at->second);
        if (s.type == "list")
          for (const std::string& item : split(at->second)) keep_secret(item);
      }
}

std::vector<EffectiveOption> effective_options(const Manifest& manifest, const OptionValues& values) {
  std::vector<EffectiveOption> out;
  const auto add = [&](const OptionSchema& s) {
    EffectiveOption e{s.name, "", s.scope, values.find(s.name) == values.end(), s.changes_artifact, s.secret};
    if (!value_of(s, values, &e.value)) return;
    if (s.secret) e.value = s.changes_artifact ? cat("sha256:", to_hex(sha256(e.value.data(), e.value.size()))) : "";
    out.push_back(std::move(e));
  };
  for (const OptionSchema& s : manifest.options) add(s);
  for (const OptionSchema& s : own_schemas()) add(s);
  return out;
}

}  // namespace optima
