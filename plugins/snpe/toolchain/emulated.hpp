// SPDX-License-Identifier: Apache-2.0
// plugins/snpe/toolchain: a Hexagon context on the emulator of the wheels, in a driver of its own.
#pragma once

#include "driver.hpp"

namespace snpe_plugin {

/// Loads it: throws CORRUPT when the tools do not take the files or tensors differ from the artifact's ports. `drivers` outlives the session.
std::unique_ptr<Session> open_emulated(Drivers& drivers, const Loadable& what, const Bounds& bounds);

}  // namespace snpe_plugin
