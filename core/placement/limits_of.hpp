// SPDX-License-Identifier: Apache-2.0
// core/placement: from what plugins declare to the splitter's limits, and back to sentences. Private to the room.
#pragma once

#include "core/placement/units.hpp"
#include "core/split/limits.hpp"
#include "core/support/text.hpp"

namespace optima::detail {

/// The limits of the candidates' notes, of the config (memory_limit, by device) and of the request (max_subgraphs). The bytes of a
/// unit are the constants its nodes read, bodies included, and the values they make, at the largest sizes that may come.
SplitLimits limits_of(const Graph& graph, const Candidates& candidates, const PlacementRequest& request, const Choices& choices,
                      const SplitProblem& problem);

/// "1 node", "4 nodes".
inline std::string number_of(uint64_t n, const char* thing) { return cat(n, " ", thing, n == 1 ? "" : "s"); }

/// "plugin 'npu' takes at most 4 subgraphs": what a device's limit is, for sentences. `op` is that of the node in question.
std::string limit_text(const Candidates& candidates, const PlacementRequest& request, uint32_t device, LimitKind kind, const std::string& op);

/// Placement error: what cannot be kept, and the nodes that are the cause.
Status conflict_error(const Graph& graph, const Candidates& candidates, const PlacementRequest& request, const Choices& choices,
                      const LimitConflict& conflict);

/// What was closed for want of room, a note for each device.
std::vector<std::string> closed_notes(const Candidates& candidates, const Split& split);

}  // namespace optima::detail
