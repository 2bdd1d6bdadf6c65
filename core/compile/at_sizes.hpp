// SPDX-License-Identifier: Apache-2.0
// core/compile: a graph of open sizes as it is at certain ones, for estimates and limits. Private to the room.
#pragma once

#include <memory>
#include <string>

#include "core/graph/graph.hpp"
#include "core/support/status.hpp"

namespace optima::detail {

/// The graph at two sets of sizes of its inputs: same nodes and values, of which those of the main graph have sizes where they follow.
struct AtSizes {
  std::shared_ptr<const Graph> opt;   ///< null: no size is open, or none of those that are tried fits the model
  std::shared_ptr<const Graph> most;  ///< null: no size is bounded, or the largest do not fit the model
  std::string note;                   ///< "costs and crossing bytes are estimated at batch = 1 (assumed), width = 320"; empty without `opt`
  std::string limits_note;            ///< where sizes are bounded and `most` is null: that limits of memory do not count what is open
};
/// The opt of Graph::sizes where it is given. Else a first dim, which most often is the batch, is 1, and all others are the first of 48, 64, 128,
/// 224, 320, 512 and 576 at which the model's shapes follow, moved to the next size that is allowed. The largest are those of Graph::sizes, with the
/// opt for what has none.
AtSizes at_sizes(const Graph& graph);

/// InvalidInput with the node's sentence where the fixed sizes of the inputs contradict an operator's rule. ONNX's inference does not look at all of it.
Status check_sizes(const Graph& graph);

}  // namespace optima::detail
