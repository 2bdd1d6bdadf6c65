// SPDX-License-Identifier: Apache-2.0
#include "wheels.hpp"

namespace snpe_plugin {

std::unique_ptr<Toolchain> find_toolchain(const Wanted& wanted, const sdk::Host& host, std::string& why) { return find_wheels(wanted, host, why); }

}  // namespace snpe_plugin
