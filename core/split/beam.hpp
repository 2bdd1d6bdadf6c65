// SPDX-License-Identifier: Apache-2.0
// core/split: search over sets of executed units. Private to the splitter.
#pragma once

#include "core/split/order.hpp"

namespace optima::detail {

struct BeamResult {
  std::vector<uint32_t> sequence;  ///< shorter than `most`; empty = none found
  uint32_t lower_bound = 0;        ///< proven; when nothing was ever dropped, the minimum itself (or `most`, where none is shorter)
};

/// Breadth first: from every set of executed units kept so far, run everything that one more device can reach. Equal sets are
/// one; a set that cannot finish within less than `most` parts is none. Each level keeps the `width` best by remaining need,
/// then by units done, then by order of finding. As long as a level keeps all, the search is exact, and the least of (parts
/// so far + need) over the level is a proven bound. Deterministic. O(width * devices * (units + edges)) steps.
BeamResult beam(const Order& order, const Need& need, size_t width, size_t most);

}  // namespace optima::detail
