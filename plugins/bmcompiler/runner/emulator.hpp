// SPDX-License-Identifier: Apache-2.0
// plugins/bmcompiler/runner: what runs a chip's files, a device or an emulator, wants to find. The plugin and optima_bmcompiler_runner know it from here,
// and optima.tpu_emulator asks the latter.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plugins/bmcompiler/chip.hpp"

namespace bmcompiler_plugin {

/// "bmrt", "tpuv7", "cvi": as optima_bmcompiler_runner takes it.
std::string_view kind_of(Runner runner);
/// What a chip's emulator opens by name, from the tools' folder lib or its folder third_party: (file there, name that it is opened by).
std::vector<std::pair<std::string, std::string>> libraries_of(const Chip& chip);
/// "NAME=VALUE" of what a process is told when `folder` has those libraries; with the emulator's own words where it is one.
std::vector<std::string> environment_of(const Chip& chip, const std::string& folder, bool emulated);

}  // namespace bmcompiler_plugin
