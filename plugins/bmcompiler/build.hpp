// SPDX-License-Identifier: Apache-2.0
// plugins/bmcompiler: compile(): a subgraph through the tools into the files of an artifact.
#pragma once

#include "toolchain/tools.hpp"

namespace bmcompiler_plugin {

/// Refuses by Sink::refuse() the nodes that the tools stop at; throws what they throw. `bmnet`: folder of the earlier SDK, for chips that only
/// it makes files for; empty = REL_TOP.
void build(const Tools& tools, const std::string& bmnet, const sdk::Host& host, const sdk::CompileRequest& request, const sdk::Sink& sink,
           const sdk::Progress& progress);

}  // namespace bmcompiler_plugin
