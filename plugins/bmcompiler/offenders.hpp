// SPDX-License-Identifier: Apache-2.0
// plugins/bmcompiler: which nodes the tools stop at, when they stopped at a whole graph.
#pragma once

#include "toolchain/stages.hpp"

namespace bmcompiler_plugin {

/// Each node of `graph` by itself through the tools, in floats, those whose modules are alike once: a verdict with the tools' words for each
/// that they do not take. Empty when all are taken so. Throws CANCELLED, and TOOL_FAILED where a tool ends otherwise than by refusing.
std::vector<sdk::Verdict> offenders(const Facts& tools, const sdk::Graph& graph, const Job& job, const Bounds& bounds, const sdk::Progress& progress);

}  // namespace bmcompiler_plugin
