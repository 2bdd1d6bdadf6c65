// SPDX-License-Identifier: Apache-2.0
// plugins/snpe/toolchain: the route over the public wheels onnxruntime and onnxruntime-qnn, which hold Qualcomm's compiler for Hexagon, its
// emulator, and the writer of DLC files. Their Python is a child process (driver.hpp); nothing of them is loaded into ours.
#pragma once

#include "toolchain.hpp"

namespace snpe_plugin {

/// In the environment that `wanted.wheels` names, else variable OPTIMA_QUALCOMM, else where scripts/setup put it. Null, with `why` naming what
/// is missing (folder, Python, driver, which wheel), when they cannot be used. Starts one process, which is kept for the first call. Any thread.
std::unique_ptr<Toolchain> find_wheels(const Wanted& wanted, const sdk::Host& host, std::string& why);

}  // namespace snpe_plugin
