// SPDX-License-Identifier: Apache-2.0
// core/backend: a device as it is asked for, and as it is found.
#pragma once

#include <cstdint>
#include <string>

#include "core/backend/options.hpp"

namespace optima {

/// A device to ask or compile for: the user's slot of a kind, with the config's target options.
struct TargetDevice {
  std::string kind;
  uint32_t slot = 0;
  OptionValues attributes;   ///< target options of optima.yaml, appended to the device's own
  uint64_t memory_limit = 0; ///< bytes; 0 = none
};

struct DeviceInfo {  ///< one device that a plugin reports as present
  std::string kind, device_class, id, arch, driver;
  uint32_t ordinal = 0;
  OptionValues attributes;
};

/// A kind that a plugin knows and cannot use on this machine.
struct RefusedKind {
  std::string kind, device_class;
  std::string why;  ///< the plugin's sentence
};

}  // namespace optima
