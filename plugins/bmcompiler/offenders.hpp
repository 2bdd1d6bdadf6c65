// SPDX-License-Identifier: Apache-2.0
// plugins/bmcompiler: which nodes the tools stop at, when they stopped at a whole graph.
#pragma once

#include "toolchain/stages.hpp"

namespace bmcompiler_plugin {

/// Each node of `graph` by itself through the tools, in floats, those whose modules are alike once: a verdict with the tools' words for each
/// that they do not take. When all are taken so, groups of nodes are halved until few are left which end the same stage the same way as `failed`:
/// a verdict on the last of them, that names them. At most kMostGroups groups. Empty when none is found. Leaves the files of `job` in place, but
/// for the module. Throws CANCELLED, and TOOL_FAILED where a tool ends otherwise than by refusing.
std::vector<sdk::Verdict> offenders(const Facts& tools, const sdk::Graph& graph, const Job& job, const Bounds& bounds, const sdk::Progress& progress,
                                    const sdk::Error& failed);
inline constexpr int kMostGroups = 32;

}  // namespace bmcompiler_plugin
