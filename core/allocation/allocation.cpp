// SPDX-License-Identifier: Apache-2.0
#include "core/allocation/allocation.hpp"

#include "core/config/yaml.hpp"
#include "core/support/file.hpp"
#include "core/support/json_value.hpp"
#include "core/support/text.hpp"

namespace optima {
namespace {

constexpr std::string_view kWanted = "a device as KIND:index, a list of devices, \"host\" or \"auto\"";

Result<Wish> wish_from(const Json& value) {
  Wish wish;
  const bool list = value.is_array();
  if (!list && !value.is_string()) return invalid_input(cat("found ", value.type_name(), ", wanted ", kWanted));
  if (list && value.empty()) return invalid_input(cat("found an empty list, wanted ", kWanted));
  if (!list && value.get_ref<const std::string&>() == "auto") return wish;
  if (!list && value.get_ref<const std::string&>() == kHostDevice) {
    wish.host = true;
    return wish;
  }
  for (const Json& one : list ? value : Json::array({value})) {
    if (!one.is_string()) return invalid_input(cat("found ", one.type_name(), " in the list, wanted a device as KIND:index"));
    OPTIMA_ASSIGN(DeviceName device, parse_device(one.get_ref<const std::string&>()));
    for (const DeviceName& other : wish.devices)
      if (other == device) return invalid_input(cat("device ", quote(device.text()), " appears twice in the list"));
    wish.devices.push_back(std::move(device));
  }
  wish.hard = !list;
  return wish;
}

struct Said {
  std::optional<Wish> device;
  std::optional<Precision> precision;
};

// A value of the file; `key` for messages.
Result<Said> said_by(const Json& value, const std::string& key) {
  Said out;
  const auto say_device = [&](const Json& device) {
    Result<Wish> wish = wish_from(device);
    if (wish.ok()) out.device = std::move(*wish);
    return wish.status().within(key);
  };
  if (!value.is_object()) {
    OPTIMA_RETURN_IF_ERROR(say_device(value));
    return out;
  }
  const JsonReader at(value, key);
  OPTIMA_RETURN_IF_ERROR(at.only({"device", "precision"}));
  if (value.empty()) return invalid_input(cat(key, ": found an empty object, wanted \"device\", \"precision\" or both"));
  if (at.has("device")) OPTIMA_RETURN_IF_ERROR(say_device(value["device"]));
  if (!at.has("precision")) return out;
  OPTIMA_ASSIGN(const std::string name, at.string("precision"));
  const Result<Precision> precision = precision_named(name);
  if (!precision.ok()) return invalid_input(cat(key, ": ", precision.status().message()));
  out.precision = *precision;
  return out;
}

// Speaks for more than the node of that name.
bool is_rule(std::string_view key) { return key.starts_with("op:") || key.find_first_of("*?") != std::string_view::npos; }

bool is_yaml(std::string_view path) { return path.ends_with(".yaml") || path.ends_with(".yml"); }

}  // namespace

std::string Wish::text() const {
  if (host) return std::string(kHostDevice);
  if (devices.empty()) return "auto";
  std::vector<std::string> names;
  for (const DeviceName& device : devices) names.push_back(device.text());
  return hard ? names[0] : cat("first of ", join(names));
}

Result<Allocation> read_allocation(const std::string& path) {
  const std::string expanded = expand_home(path);
  OPTIMA_ASSIGN(const Json json, is_yaml(expanded) ? read_yaml(expanded) : read_json(expanded));
  return parse_allocation(json, path);
}

Result<Allocation> parse_allocation(const Json& json, const std::string& path) {
  if (!json.is_object()) return invalid_input(cat(quote(path), ": found ", json.type_name(), ", wanted an object from node names to devices"));
  Allocation out;
  out.path = path;
  for (const auto& [key, value] : json.get_ref<const Json::object_t&>()) {
    if (key.empty() || key == "op:")
      return invalid_input(cat(quote(path), ": key ", quote(key), " names nothing, wanted a node name, a glob, op:Type or *"));
    Result<Said> said = said_by(value, quote(key));
    if (!said.ok()) return said.status().within(quote(path));
    if (said->device) out.entries.emplace_back(key, std::move(*said->device)).second.source = quote(key);
    if (said->precision) out.precisions.emplace_back(key, PrecisionWish{said->precision, quote(key)});
  }
  return out;
}

Json wish_value(const std::string& text) {
  if (text.find(',') == std::string::npos) return text;
  Json out = Json::array();
  for (size_t from = 0, to; from <= text.size(); from = to + 1) {
    to = std::min(text.find(',', from), text.size());
    out.push_back(text.substr(from, to - from));
  }
  return out;
}

Result<Wish> parse_wish(const std::string& text) { return wish_from(wish_value(text)); }

Result<std::pair<std::string, Wish>> parse_pin(const std::string& text) {
  const size_t at = text.rfind('=');  // names may hold '=', devices may not
  const std::string key = text.substr(0, at == std::string::npos ? 0 : at);
  if (key.empty() || key == "op:" || at + 1 == text.size())
    return usage_error(cat("--pin: found ", quote(text), ", wanted NODE=KIND:index, where NODE may be a glob, op:Type or *"));
  Result<Wish> wish = parse_wish(text.substr(at + 1));
  if (!wish.ok()) return usage_error(wish.status().within(cat("--pin ", quote(key))).message());
  wish->source = is_rule(key) ? cat("--pin ", quote(key)) : "--pin";
  return std::pair(key, std::move(*wish));
}

}  // namespace optima
