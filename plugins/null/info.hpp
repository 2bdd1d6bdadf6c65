// SPDX-License-Identifier: Apache-2.0
// plugins/null: who it is and what it can do. The plugin and its manifest are both made from this, so they cannot disagree.
#pragma once

#include "optima/plugin/manifest.hpp"

namespace null_plugin {

namespace sdk = optima::sdk;

constexpr sdk::Types kPlain = sdk::types(OPTIMA_F32, OPTIMA_F64, OPTIMA_F16, OPTIMA_U8, OPTIMA_I8, OPTIMA_I32, OPTIMA_I64, OPTIMA_BOOL);

constexpr sdk::Op identity() {
  sdk::Op op;
  op.name = "Identity";
  op.since_min = 1, op.since_max = 25;
  op.in = {kPlain}, op.out = {kPlain};
  op.ranks = {sdk::Range{0, 8}};
  op.note = "one node per subgraph; copies";
  return op;
}

inline constexpr sdk::DeviceKind kDevices[] = {{"NULL", "other", true}};
inline constexpr sdk::Op kOperators[] = {identity()};
inline constexpr sdk::OptionSpec kOptions[] = {
    {"null.refuse", "string", "compile", "", "refuse to compile, with this sentence", false}};

constexpr sdk::Info info() {
  sdk::Info i;
  i.id = "null", i.vendor = "Optima", i.version = "0.1.0", i.build_id = OPTIMA_BUILD_ID;
  i.devices = kDevices;
  i.operators = kOperators;
  i.options = kOptions;
  i.formats = "null.copy/1";
  i.limits.max_nodes = 1;
  i.only_when_named = true;
  return i;
}
inline constexpr sdk::Info kInfo = info();

}  // namespace null_plugin
