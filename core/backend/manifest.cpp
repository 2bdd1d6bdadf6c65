// SPDX-License-Identifier: Apache-2.0
#include "core/backend/manifest.hpp"

#include <algorithm>

namespace optima {

const DeviceKind* Manifest::find_kind(std::string_view kind) const {
  const auto it = std::find_if(devices.begin(), devices.end(), [&](const DeviceKind& d) { return d.kind == kind; });
  return it == devices.end() ? nullptr : &*it;
}

}  // namespace optima
