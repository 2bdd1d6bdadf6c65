// SPDX-License-Identifier: Apache-2.0
#include "runtime_only.hpp"
#include "sdk.hpp"
#include "wheels.hpp"

namespace snpe_plugin {

/// A SDK's runtime without its tools comes before the wheels where it is named, else after them: a device has nothing else.
std::unique_ptr<Toolchain> find_toolchain(const Wanted& wanted, const sdk::Host& host, std::string& why) {
  std::string missing, lacks;
  why.clear();
  const auto tell = [&](const char* route) { why += (why.empty() ? "" : "; ") + std::string(route) + ": " + missing; };
  const bool named = !wanted.sdk_root.empty();
  if (wanted.route != "wheels") {
    if (auto tools = find_sdk(wanted, missing)) return tools;
    tell("SDK");
    lacks = missing;
    if (named)
      if (auto tools = find_snpe_runtime(wanted, lacks, missing)) return tools;
    if (named) tell("its runtime alone");
  }
  if (wanted.route != "sdk") {
    if (auto tools = find_wheels(wanted, host, missing)) return tools;
    tell("wheels");
  }
  if (wanted.route != "wheels" && !named) return find_snpe_runtime(wanted, lacks, missing);
  return nullptr;
}

}  // namespace snpe_plugin
