// SPDX-License-Identifier: Apache-2.0
// plugins/bmcompiler: check(): the table, then the rows of top/ and what the chip's codes allow. Asks no tool.
#pragma once

#include "chip.hpp"
#include "optima/plugin/plugin.hpp"

namespace bmcompiler_plugin {

namespace sdk = optima::sdk;

sdk::Verdict judge(const sdk::Node& node, const Chip& chip);

}  // namespace bmcompiler_plugin
