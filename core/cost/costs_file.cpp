// SPDX-License-Identifier: Apache-2.0
#include "core/cost/costs_file.hpp"

#include <algorithm>
#include <cmath>

#include "core/support/file.hpp"
#include "core/support/json.hpp"
#include "core/support/json_value.hpp"
#include "core/support/text.hpp"

namespace optima {
namespace {

constexpr CostMethod kMethods[] = {CostMethod::Profile, CostMethod::Share, CostMethod::Given};

Status error(const JsonReader& at, std::string_view message) { return invalid_input(cat(at.place(), ": ", message)); }

Result<double> time_of(const JsonReader& at, const std::string& name, const Json& json) {
  if (!json.is_number() || !std::isfinite(json.get<double>()) || json.get<double>() < 0)
    return error(at, cat(quote(name), ": found ", to_line(json), ", wanted microseconds, 0 or more"));
  return json.get<double>();
}

Status read_nodes(const JsonReader& at, CostMethod method, MeasuredDevice& out) {
  OPTIMA_ASSIGN(const JsonReader nodes, at.object(name_of(method)));
  for (const auto& [name, json] : nodes.json().items()) {
    OPTIMA_ASSIGN(const double us, time_of(nodes, name, json));
    if (!out.nodes.emplace(name, MeasuredNode{us, method}).second) return error(nodes, cat("node ", quote(name), " was given before"));
  }
  return {};
}

Result<uint64_t> bytes_of(const JsonReader& at, const std::string& name) {
  OPTIMA_ASSIGN(const int64_t bytes, at.integer(name));
  if (bytes < 0) return error(at, cat(quote(name), ": found ", bytes, ", wanted bytes, 0 or more"));
  return static_cast<uint64_t>(bytes);
}

Result<MeasuredRun> read_run(const JsonReader& at) {
  OPTIMA_RETURN_IF_ERROR(at.only({"microseconds", "bytes_in", "bytes_out", "nodes"}));
  MeasuredRun out;
  if (!at.has("microseconds")) return error(at, "has no 'microseconds'");
  OPTIMA_ASSIGN(out.microseconds, time_of(at, "microseconds", at.json()["microseconds"]));
  OPTIMA_ASSIGN(out.bytes_in, bytes_of(at, "bytes_in"));
  OPTIMA_ASSIGN(out.bytes_out, bytes_of(at, "bytes_out"));
  OPTIMA_ASSIGN(out.nodes, at.strings("nodes"));
  return out;
}

Result<MeasuredDevice> read_device(const JsonReader& at) {
  OPTIMA_RETURN_IF_ERROR(at.only({"device", "launch_us", "profile", "share", "given", "runs"}));
  MeasuredDevice out;
  OPTIMA_ASSIGN(const std::string name, at.string("device"));
  Result<DeviceName> parsed = parse_device(name);
  if (!parsed.ok()) return error(at, cat("device: ", parsed.status().message()));
  out.name = *parsed;
  if (at.has("launch_us")) {
    OPTIMA_ASSIGN(out.launch_us, time_of(at, "launch_us", at.json()["launch_us"]));
  }
  for (CostMethod method : kMethods)
    if (at.has(name_of(method))) OPTIMA_RETURN_IF_ERROR(read_nodes(at, method, out));
  if (!at.has("runs")) return out;
  OPTIMA_ASSIGN(const auto runs, at.array("runs"));
  for (const JsonReader& run : runs) {
    OPTIMA_ASSIGN(MeasuredRun one, read_run(run));
    out.runs.push_back(std::move(one));
  }
  return out;
}

}  // namespace

std::string_view name_of(CostMethod method) {
  switch (method) {
    case CostMethod::Profile: return "profile";
    case CostMethod::Share: return "share";
    case CostMethod::Given: return "given";
  }
  return "given";
}

void add_measured(MeasuredCosts& to, const MeasuredCosts& more) {
  for (const MeasuredDevice& d : more.devices) {
    const auto same = std::find_if(to.devices.begin(), to.devices.end(), [&](const MeasuredDevice& other) { return other.name == d.name; });
    if (same == to.devices.end()) {
      to.devices.push_back(d);
      continue;
    }
    same->nodes.insert(d.nodes.begin(), d.nodes.end());
    same->runs.insert(same->runs.end(), d.runs.begin(), d.runs.end());
    if (same->launch_us < 0) same->launch_us = d.launch_us;
  }
}

std::string costs_text(const MeasuredCosts& costs) {
  Json devices = Json::array();
  for (const MeasuredDevice& d : costs.devices) {
    Json& one = devices.emplace_back(Json{{"device", d.name.text()}});
    if (d.launch_us >= 0) one["launch_us"] = d.launch_us;
    for (CostMethod method : kMethods) {
      Json nodes = Json::object();
      for (const auto& [name, node] : d.nodes)
        if (node.method == method) append_member(nodes, name, node.microseconds);
      if (!nodes.empty()) one[std::string(name_of(method))] = std::move(nodes);
    }
    for (const MeasuredRun& run : d.runs)
      one["runs"].push_back({{"microseconds", run.microseconds}, {"bytes_in", run.bytes_in}, {"bytes_out", run.bytes_out}, {"nodes", run.nodes}});
  }
  return to_text({{"format", kCostsFormat}, {"model", {{"name", costs.model_name}, {"hash", costs.model_hash}}}, {"devices", std::move(devices)}});
}

Result<MeasuredCosts> parse_costs(std::string_view text, const std::string& place) {
  OPTIMA_ASSIGN(const Json json, parse_json(text, place));
  const JsonReader root(json, place);
  MeasuredCosts out;
  OPTIMA_ASSIGN(const int64_t format, root.integer("format"));
  if (format < 1 || format > kCostsFormat) return error(root, cat("format: found ", format, ", wanted 1 to ", kCostsFormat));
  OPTIMA_RETURN_IF_ERROR(root.only({"format", "model", "devices"}));
  if (root.has("model")) {
    OPTIMA_ASSIGN(const JsonReader model, root.object("model"));
    OPTIMA_ASSIGN(out.model_name, model.string_or("name", ""));
    OPTIMA_ASSIGN(out.model_hash, model.string_or("hash", ""));
  }
  OPTIMA_ASSIGN(const auto devices, root.array("devices"));
  for (const JsonReader& at : devices) {
    OPTIMA_ASSIGN(MeasuredDevice one, read_device(at));
    for (const MeasuredDevice& other : out.devices)
      if (other.name == one.name) return error(at, cat("device ", quote(one.name.text()), " appears twice"));
    out.devices.push_back(std::move(one));
  }
  return out;
}

Result<MeasuredCosts> read_costs(const std::string& path) {
  const std::string expanded = expand_home(path);
  OPTIMA_ASSIGN(const std::string text, read_file(expanded));
  return parse_costs(text, expanded);
}

}  // namespace optima
