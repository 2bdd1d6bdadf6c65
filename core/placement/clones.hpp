// SPDX-License-Identifier: Apache-2.0
// core/placement: which cheap nodes run in several parts, because that is less to move than their results. Private to the room.
#pragma once

#include <string>
#include <vector>

#include "core/placement/units.hpp"

namespace optima::detail {

/// A node that a part runs besides its own.
struct Extra {
  uint32_t node = 0, part = 0;
  std::string why;
};

/// What the quantized units hold in common, and every cheap node (operators.hpp) whose result crosses to a part on a device that
/// takes the node too, when less than the result would have to come over for a clone; whole chains of such nodes where that
/// pays. Inputs of the model and constants come for nothing. A tensor of unknown size is cloned away only for nothing, and
/// nothing is cloned for one. Never a stateful node, a node of a larger unit, or one that a wish keeps away; and a node keeps a
/// reader at home; no cheap node at all when `cheap` is false. No part is added or lost. O(readers + crossing tensors * a small depth).
std::vector<Extra> find_clones(const Graph& graph, const Uses& uses, const Capability& capability, const Choices& choices, const Split& split,
                               bool cheap);

}  // namespace optima::detail
