// SPDX-License-Identifier: Apache-2.0
// reference/ops: the list of what the reference evaluates, one row per operator. Capability of the plugin and lookup of the
// library both come from it.
#pragma once

#include <array>
#include <string_view>

#include "reference/call.hpp"

namespace optima::reference {

using Evaluator = void (*)(Call& call);
using TypeSet = uint64_t;  ///< bit per dtype number

/// Set per input or output position; the last one that is not empty also holds for the rest.
using TypeList = std::array<TypeSet, 6>;

/// One operator of the default domain, for nodes that verified under a schema version within [first, last].
struct Row {
  std::string_view name;
  int32_t first, last;
  Evaluator run;
  TypeList in, out;
  /// Bit per input whose element type must be that of the lowest bit; the highest bit speaks for all inputs from 31 on.
  uint32_t same = 0;
};

constexpr TypeSet type_at(const TypeList& list, uint32_t k) {
  TypeSet last = 0;
  for (uint32_t i = 0; i <= k && i < list.size() && list[i]; ++i) last = list[i];
  return last;
}

/// Sorted by name; any row of one operator is for other versions.
Span<const Row> table();
/// Null when there is none.
const Row* find_row(const optima_image* image, const optima_node& node);

}  // namespace optima::reference
