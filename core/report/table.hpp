// SPDX-License-Identifier: Apache-2.0
// core/report: lines and columns. Private to the room.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/plan/plan.hpp"
#include "core/support/table.hpp"

namespace optima::detail {

/// Rows of cells as indented lines with aligned columns; columns in `right` (by index) are aligned to the right.
inline std::string table(const std::vector<std::vector<std::string>>& rows, const std::vector<size_t>& right = {}) {
  return optima::table(rows, {"  ", right});
}

/// Text of a plan that somebody else may have written: control bytes become '?', so it cannot drive a terminal.
std::string clean(std::string_view text);

/// "1 node", "3 nodes".
std::string count_of(size_t count, std::string_view thing);

/// "a, b, c, ... (12 in all)".
std::string shortened(const std::vector<std::string>& names, size_t most);

/// "int8[1x3x8x8], 768 bytes -> 192 bytes, no conversion at 2 ends": of a cut tensor that does not go through the usual door.
std::string door_of(const CutTensor& cut);

}  // namespace optima::detail
