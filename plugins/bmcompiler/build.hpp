// SPDX-License-Identifier: Apache-2.0
// plugins/bmcompiler: compile(): a subgraph through the tools into the files of an artifact.
#pragma once

#include "toolchain/tools.hpp"

namespace bmcompiler_plugin {

/// Refuses by Sink::refuse() the nodes that the tools stop at; throws what they throw.
void build(const Tools& tools, const sdk::Host& host, const sdk::CompileRequest& request, const sdk::Sink& sink, const sdk::Progress& progress);

}  // namespace bmcompiler_plugin
