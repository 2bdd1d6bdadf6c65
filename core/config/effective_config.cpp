// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <map>

#include "core/config/config.hpp"
#include "core/support/json.hpp"
#include "core/support/json_value.hpp"
#include "core/support/text.hpp"

namespace optima {
namespace {

// A JSON string is a YAML double-quoted scalar, whatever it holds.
std::string scalar(const std::string& text) { return to_line(Json(text)); }

// Shortest digits that read back to the same number.
std::string scalar(double number) {
  char digits[64];
  return {digits, std::to_chars(digits, digits + sizeof digits, number).ptr};
}

std::string list(const std::vector<std::string>& names) {
  std::vector<std::string> quoted;
  for (const std::string& name : names) quoted.push_back(scalar(name));
  return cat("[", join(quoted), "]");
}

void add_options(std::string& out, std::string_view indent, const OptionValues& options) {
  for (const auto& [key, value] : options) out += cat(indent, scalar(key), ": ", scalar(value), "\n");
}

void add_device(std::string& out, const DeviceConfig& device) {
  out += cat("  - name: ", scalar(device.name.text()), "\n");
  if (!device.target.empty()) out += "    target:\n";
  add_options(out, "      ", device.target);
  if (device.memory_limit) out += cat("    memory_limit: ", device.memory_limit, "\n");
  for (const auto& [key, value] :
       {std::pair{"launch_us", device.launch_us}, std::pair{"gflops", device.gflops}, std::pair{"gflops_half", device.gflops_half},
        std::pair{"gops_int8", device.gops_int8}, std::pair{"gbytes_per_s", device.gbytes_per_s}})
    if (value != 0) out += cat("    ", key, ": ", scalar(value), "\n");
}

void add_link(std::string& out, const LinkConfig& link) {
  out += cat("  - from: ", scalar(link.from.text()), "\n    to: ", scalar(link.to.text()), "\n");
  if (link.latency_us != 0) out += cat("    latency_us: ", scalar(link.latency_us), "\n");
  if (link.gbytes_per_s != 0) out += cat("    gbytes_per_s: ", scalar(link.gbytes_per_s), "\n");
}

void add_plugins(std::string& out, const Config& config) {
  if (config.plugin_order.empty() && config.plugin_allow.empty() && config.plugin_options.empty()) return;
  out += "plugins:\n";
  if (!config.plugin_order.empty()) out += cat("  order: ", list(config.plugin_order), "\n");
  if (!config.plugin_allow.empty()) out += cat("  allow: ", list(config.plugin_allow), "\n");
  std::map<std::string, OptionValues> by_plugin;
  for (const auto& [name, value] : config.plugin_options) {
    const size_t dot = name.find('.');
    by_plugin[name.substr(0, dot)][dot == std::string::npos ? "" : name.substr(dot + 1)] = value;
  }
  if (!by_plugin.empty()) out += "  options:\n";
  for (const auto& [plugin, options] : by_plugin) {
    out += cat("    ", scalar(plugin), ":\n");
    add_options(out, "      ", options);
  }
}

void add_sizes(std::string& out, const Config& config) {
  if (!config.dims.empty()) out += "dims:\n";
  for (const auto& [name, range] : config.dims) out += cat("  ", scalar(name), ": ", scalar(range_text(range)), "\n");
  if (!config.shapes.empty()) out += "shapes:\n";
  for (const auto& [name, shape] : config.shapes) {
    std::vector<std::string> sizes;
    for (const int64_t size : shape) sizes.push_back(size < 0 ? "\"?\"" : std::to_string(size));
    out += cat("  ", scalar(name), ": [", join(sizes), "]\n");
  }
}

}  // namespace

std::string links_section(const Config& config) {
  std::string out = config.links.empty() ? "" : "links:\n";
  for (const LinkConfig& link : config.links) add_link(out, link);
  return out;
}

std::string effective_config(const Config& config) {
  std::string out;
  if (!config.devices.empty()) out += "devices:\n";
  for (const DeviceConfig& device : config.devices) add_device(out, device);
  out += links_section(config);
  add_plugins(out, config);
  if (!config.costs.empty()) out += cat("costs: ", list(config.costs), "\n");
  add_sizes(out, config);
  return out + cat("objective: ", config.objective, "\n");
}

}  // namespace optima
