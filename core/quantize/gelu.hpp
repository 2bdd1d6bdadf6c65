// SPDX-License-Identifier: Apache-2.0
// core/quantize: GELU as exporters write it for operator sets without one. Private to the room.
#pragma once

#include <vector>

#include "core/graph/graph.hpp"

namespace optima::detail {

/// x * 0.5 * (1 + erf(x / sqrt(2))) in five nodes, the products in any order.
struct Gelu {
  uint32_t input = OPTIMA_NONE;   ///< x
  std::vector<uint32_t> nodes;    ///< of the main graph
  std::vector<uint32_t> inside;   ///< values between them that nobody else reads
};
std::vector<Gelu> find_gelus(const Graph& graph, const Uses& uses);

}  // namespace optima::detail
