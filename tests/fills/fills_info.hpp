// SPDX-License-Identifier: Apache-2.0
// tests: who the plugin of a device is that wants codes everywhere: the reference's table for another device.
#pragma once

#include "plugins/reference/info.hpp"

namespace fills_plugin {

namespace sdk = optima::sdk;

inline constexpr sdk::DeviceKind kDevices[] = {{"FIL", "dsp", true, true}};

constexpr sdk::Info info() {
  sdk::Info i = reference_plugin::kInfo;
  i.id = "fills";
  i.devices = kDevices;
  return i;
}
inline constexpr sdk::Info kInfo = info();

}  // namespace fills_plugin
