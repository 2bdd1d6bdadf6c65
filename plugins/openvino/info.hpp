// SPDX-License-Identifier: Apache-2.0
// plugins/openvino: who it is and what it can do. Knows no OpenVINO: operators.inc is what operators.py found in it.
#pragma once

#include <utility>

#include "optima/plugin/manifest.hpp"

namespace openvino_plugin {

namespace sdk = optima::sdk;

inline constexpr std::string_view kFormat = "openvino.blob/1";

constexpr sdk::Op row(std::string_view name, int32_t first, int32_t last, std::array<sdk::Types, 8> in, std::array<sdk::Types, 8> out) {
  sdk::Op op;
  op.name = name;
  op.since_min = first, op.since_max = last;
  op.in = in, op.out = out;
  op.static_shape = false;
  op.kinds = "X64 INTELGPU NPU";
  return op;
}

inline constexpr sdk::Op kOperators[] = {
#define ROW(least, ...) row(__VA_ARGS__),
#include "operators.inc"
#undef ROW
};

/// Inputs a node must have, by the same rows: OpenVINO's front end may end the process over one that lacks them.
struct Operands {
  std::string_view op;
  int32_t first, last;
  uint32_t least;
};
inline constexpr Operands kOperands[] = {
#define ROW(least, name, first, last, ...) {name, first, last, least},
#include "operators.inc"
#undef ROW
};

inline constexpr sdk::DeviceKind kDevices[] = {{"X64", "cpu", true}, {"INTELGPU", "gpu"}, {"NPU", "npu"}};
inline constexpr sdk::OptionSpec kOptions[] = {
    {"openvino.precision", "enum", "compile", "f32", "type that f32 models are computed in", true, "f32 f16 bf16"},
    {"openvino.hint", "enum", "load", "latency", "what to run for: one request's time, or many requests a second", false, "latency throughput"},
    {"openvino.streams", "int", "load", "0", "requests computed side by side; 0 = what the hint says", false, "", 0, 256},
    {"openvino.threads", "int", "load", "0", "threads to compute with; 0 = optima.threads, else all", false, "", 0, 1024},
    {"openvino.queue", "enum", "load", "auto", "a queue per subgraph, or one for all; auto = shared where all processors may be used and one request is computed at a time", false, "auto own shared"},
    {"openvino.cache_dir", "path", "compile", "", "folder for OpenVINO's own cache of compiled models; empty = none", true},
};

constexpr sdk::Info info() {
  sdk::Info i;
  i.id = "openvino", i.vendor = "Optima", i.version = "0.1.0", i.build_id = OPTIMA_BUILD_ID;
  i.devices = kDevices;
  i.operators = kOperators;
  i.options = kOptions;
  i.formats = kFormat;
  i.priority = -10;  // behind the project's own plugin for the same kind: taken when named or ordered
  return i;
}
inline constexpr sdk::Info kInfo = info();

}  // namespace openvino_plugin
