// SPDX-License-Identifier: Apache-2.0
// tests: who the pattern plugin is: the reference's table for another device.
#pragma once

#include "plugins/reference/info.hpp"

namespace pattern_plugin {

namespace sdk = optima::sdk;

inline constexpr sdk::DeviceKind kDevices[] = {{"PAT", "npu", true}};

constexpr sdk::Info info() {
  sdk::Info i = reference_plugin::kInfo;
  i.id = "pattern";
  i.devices = kDevices;
  i.only_when_named = false;
  return i;
}
inline constexpr sdk::Info kInfo = info();

}  // namespace pattern_plugin
