// SPDX-License-Identifier: Apache-2.0
#include "core/allocation/allocation.hpp"

#include <nlohmann/json.hpp>

#include "core/config/yaml.hpp"
#include "core/support/file.hpp"
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
    if (key.empty() || key == "op:") return invalid_input(cat(quote(path), ": key ", quote(key), " names nothing, wanted a node name, a glob, op:Type or *"));
    Result<Wish> wish = wish_from(value);
    if (!wish.ok()) return wish.status().within(cat(quote(path), ": ", quote(key)));
    wish->source = quote(key);
    out.entries.emplace_back(key, std::move(*wish));
  }
  return out;
}

Result<std::pair<std::string, Wish>> parse_pin(const std::string& text) {
  const size_t at = text.rfind('=');  // names may hold '=', devices may not
  if (at == std::string::npos || at == 0 || at + 1 == text.size()) return invalid_input(cat("--pin: found ", quote(text), ", wanted NODE=KIND:index"));
  std::string devices = text.substr(at + 1);
  Json value = devices;
  if (devices.find(',') != std::string::npos) {
    value = Json::array();
    for (size_t from = 0, to; from <= devices.size(); from = to + 1) {
      to = std::min(devices.find(',', from), devices.size());
      value.push_back(devices.substr(from, to - from));
    }
  }
  Result<Wish> wish = wish_from(value);
  if (!wish.ok()) return wish.status().within(cat("--pin ", quote(text.substr(0, at))));
  wish->source = "--pin";
  wish->rank = Wish::kPinRank;
  return std::pair(text.substr(0, at), std::move(*wish));
}

}  // namespace optima
