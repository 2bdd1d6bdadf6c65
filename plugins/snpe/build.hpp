// SPDX-License-Identifier: Apache-2.0
// plugins/snpe: compile(): a subgraph through the tools into the files of an artifact.
#pragma once

#include "tools.hpp"

namespace snpe_plugin {

/// Refuses by Sink::refuse() what the tools leave out, throws what they throw, DEPENDENCY where they cannot compile for the device.
void build(Toolchain& tools, const sdk::Host& host, const sdk::CompileRequest& request, const sdk::Sink& sink, const sdk::Progress& progress);

}  // namespace snpe_plugin
