// SPDX-License-Identifier: Apache-2.0
// core/config: optima.yaml as data. Knows names of settings, not plugins or graphs.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/backend/backend.hpp"
#include "core/backend/device.hpp"
#include "core/sizes/sizes.hpp"
#include "core/support/status.hpp"

namespace optima {

/// A device to compile for, and what the model's author knows about it.
struct DeviceConfig {
  DeviceName name;            ///< `plugin:` goes into name.plugin
  OptionValues target;        ///< target options, text as written; merged into the device's attributes
  uint64_t memory_limit = 0;  ///< bytes; 0 = none
  double launch_us = 0;       ///< cost of starting one subgraph, microseconds
  double gflops = 0;          ///< what it computes at best, 1e9 operations per second; 0 = not known
  double gbytes_per_s = 0;    ///< what its memory moves at best; 0 = not known
  double gflops_half = 0;     ///< the same of products of f16 and bf16; 0 = as gflops
  double gops_int8 = 0;       ///< the same of products of 8-bit codes; 0 = four times gflops

  friend bool operator==(const DeviceConfig&, const DeviceConfig&) = default;
};

/// What moving a tensor from one device to another costs.
struct LinkConfig {
  DeviceName from, to;
  double latency_us = 0;
  double gbytes_per_s = 0;  ///< 0 = not given

  friend bool operator==(const LinkConfig&, const LinkConfig&) = default;
};

/// Everything of optima.yaml. Plain data; the command line is laid over it by the host.
struct Config {
  std::vector<DeviceConfig> devices;       ///< candidates in order of preference
  std::vector<LinkConfig> links;
  OptionValues plugin_options;             ///< "plugin.key" -> text as written
  std::vector<std::string> plugin_order;   ///< ids, first one first
  std::vector<std::string> plugin_allow;   ///< ids; empty = all
  std::string objective = "parts";         ///< or "latency"
  std::vector<std::string> costs;          ///< files of measured costs; a later one wins
  SizeRanges dims;                         ///< sizes of open dims by their symbol or place; of one size where the dim is closed
  std::map<std::string, std::vector<int64_t>> shapes;  ///< model input -> dims; -1 = open

  friend bool operator==(const Config&, const Config&) = default;
};

/// InvalidInput as "file:line:column: ..." for what parse_yaml refuses, unknown keys (nearest shown), wrong types, values out
/// of range, and the same device or link twice. `what` names the text in messages.
Result<Config> parse_config(std::string_view text, std::string_view what);
/// The file at `path` ("~" expanded).
Result<Config> read_config(const std::string& path);

/// The config as YAML that parse_config reads back to an equal one. Same config, same bytes.
std::string effective_config(const Config& config);
/// Its `links:` alone, as effective_config writes them; empty without links.
std::string links_section(const Config& config);

}  // namespace optima
