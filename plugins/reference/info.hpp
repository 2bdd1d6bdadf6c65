// SPDX-License-Identifier: Apache-2.0
// plugins/reference: who it is and what it can do, made from the table of the reference library.
#pragma once

#include "optima/plugin/manifest.hpp"
#include "reference/ops/operators.hpp"

namespace reference_plugin {

namespace sdk = optima::sdk;

inline constexpr std::string_view kFormat = "optima.reference/1";

inline constexpr sdk::DeviceKind kDevices[] = {{"REF", "cpu", true}};
using optima::reference::kOperators;

constexpr sdk::Info info() {
  sdk::Info i;
  i.id = "reference", i.vendor = "Optima", i.version = "0.1.0", i.build_id = OPTIMA_BUILD_ID;
  i.devices = kDevices;
  i.operators = sdk::Span<const sdk::Op>(kOperators.data(), kOperators.size());
  i.formats = kFormat;
  i.only_when_named = true;
  return i;
}
inline constexpr sdk::Info kInfo = info();

}  // namespace reference_plugin
