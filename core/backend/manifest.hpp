// SPDX-License-Identifier: Apache-2.0
// core/backend: the capability note of a plugin. Format: sdk/manifest.schema.json.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace optima {

/// Tier 1: one operator row. An upper bound of what check() will say.
struct OperatorRow {
  std::string domain, op;
  int32_t since_min = 1, since_max = 1;
  std::vector<uint64_t> inputs, outputs;  ///< per position a bit set over dtype numbers; the last holds for the rest
  int32_t rank_min = 0, rank_max = 64;    ///< of input 0
  std::vector<std::pair<int32_t, int32_t>> ranks;  ///< per input, input 0 included; inputs past the end are not bounded
  bool static_shape = false;
  bool batch_only = false;                ///< only dim 0 may be unknown
  bool stateful = false;                  ///< its result depends on what ran before
  uint64_t const_inputs = 0;              ///< bit per input
  std::vector<std::string> kinds;         ///< empty = all of the plugin's
  std::string note;
};

struct OptionSchema {
  std::string name, type, scope, doc;  ///< type: bool int float string enum path bytes list; scope: init compile load context
  std::string default_text;             ///< as JSON text; empty = none
  std::vector<std::string> values;     ///< of an enum
  bool has_min = false, has_max = false;
  double min = 0, max = 0;
  bool changes_artifact = false;
  bool secret = false;  ///< its value is neither stored nor shown
};

struct Limits {  // 0 = none
  uint64_t max_subgraphs = 0, max_nodes = 0, max_io = 0, memory = 0;
  bool connected_only = false;
  std::vector<std::string> not_first, not_last;
};

struct DeviceKind {
  std::string kind, device_class;  ///< "X64", "cpu"
  bool is_virtual = false;         ///< any index may be compiled for
  bool quantizes_all = false;      ///< of nodes quantized for it every float tensor is to be codes
};

struct OpsetRange {
  std::string domain;
  int64_t min = 1, max = 1;
};

struct Manifest {
  std::string id, vendor, version, build_id;
  std::vector<std::pair<uint32_t, uint32_t>> abi;
  uint32_t min_host_minor = 0;
  std::string sanitizer = "none";
  bool compiler = false, runtime = false;  ///< roles
  std::vector<DeviceKind> devices;
  int64_t priority = 0;
  bool only_when_named = false, single_instance = false, cancel_by_kill = false;
  std::vector<std::string> domains, formats;
  std::vector<std::pair<std::string, std::string>> functions;  ///< local functions it wants whole: domain, name
  std::vector<OpsetRange> opsets;  ///< models it wants to see; outside = reason OPSET
  Limits limits;
  std::vector<OperatorRow> operators;
  std::vector<OptionSchema> options;

  const DeviceKind* find_kind(std::string_view kind) const;
};

}  // namespace optima
