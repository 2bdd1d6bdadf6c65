// SPDX-License-Identifier: Apache-2.0
// host: devices as words of the command line.
#pragma once

#include <vector>

#include "core/backend/device.hpp"
#include "host/optima_host/arguments.hpp"

namespace optima::host {

/// The name of a device that an option gives ("--device"). Usage for what is no such name.
Result<DeviceName> device_option(const std::string& text, std::string_view option);
/// A list option of devices, split at commas. Usage when it is there and names none.
Result<std::vector<DeviceName>> device_options(const Arguments& arguments, const std::string& option);

}  // namespace optima::host
