// SPDX-License-Identifier: Apache-2.0
#include "wheels.hpp"

namespace snpe_plugin {

std::unique_ptr<Toolchain> find_toolchain(const Wanted& wanted, const sdk::Host& host, std::string& why) {
  std::string missing;
  why.clear();
  if (auto tools = find_wheels(wanted, host, missing)) return tools;
  why = "wheels: " + missing;
  return nullptr;
}

}  // namespace snpe_plugin
