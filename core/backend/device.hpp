// SPDX-License-Identifier: Apache-2.0
// core/backend: what users call a device.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/support/status.hpp"

namespace optima {

/// `KIND:index` or `plugin/KIND:index`.
struct DeviceName {
  std::string plugin;  ///< empty = whichever plugin serves the kind
  std::string kind;    ///< "X64"
  uint32_t index = 0;  ///< the user's slot

  /// "X64:0" or "llvm_cpu/X64:0".
  std::string text() const;
  /// Whether this is the full name, or the full name without its plugin.
  bool fits(const DeviceName& full) const { return kind == full.kind && index == full.index && (plugin.empty() || plugin == full.plugin); }
  friend bool operator==(const DeviceName&, const DeviceName&) = default;
};

/// What stands in place of a device for nodes that the host runs itself: an If, Loop or Scan whose bodies have their own plans.
constexpr std::string_view kHostDevice = "host";

/// InvalidInput naming what was found and the two forms wanted.
Result<DeviceName> parse_device(std::string_view text);

}  // namespace optima
