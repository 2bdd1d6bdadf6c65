// SPDX-License-Identifier: Apache-2.0
// core/backend: what a manifest alone says of a node of a graph image. An upper bound of check(), needs no plugin code.
#pragma once

#include "core/backend/manifest.hpp"
#include "core/backend/verdict.hpp"

namespace optima {

/// SUPPORTED, or UNSUPPORTED with reason, found, wanted and a sentence. What the graph does not know (dtype, rank) is taken
/// as possible. `node` points into the graph's image. Any thread.
Verdict judge_by_note(const Manifest& manifest, std::string_view kind, const optima_graph& graph, const optima_node& node);

}  // namespace optima
