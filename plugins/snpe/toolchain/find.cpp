// SPDX-License-Identifier: Apache-2.0
#include "sdk.hpp"
#include "wheels.hpp"

namespace snpe_plugin {

std::unique_ptr<Toolchain> find_toolchain(const Wanted& wanted, const sdk::Host& host, std::string& why) {
  std::string missing;
  why.clear();
  const auto tell = [&](const char* route) { why += (why.empty() ? "" : "; ") + std::string(route) + ": " + missing; };
  if (wanted.route != "wheels") {
    if (auto tools = find_sdk(wanted, missing)) return tools;
    tell("SDK");
  }
  if (wanted.route != "sdk") {
    if (auto tools = find_wheels(wanted, host, missing)) return tools;
    tell("wheels");
  }
  return nullptr;
}

}  // namespace snpe_plugin
