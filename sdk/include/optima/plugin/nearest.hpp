// SPDX-License-Identifier: Apache-2.0
// optima/plugin/nearest.hpp: which known name a mistyped one is nearest to. Knows nothing else of the sdk. Not included by plugin.hpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

namespace optima::sdk {
inline namespace v0_1 {

/// Bytes to insert, drop or change to make one of the other.
inline size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t k = 0; k < row.size(); ++k) row[k] = k;
  for (const char c : a) {
    size_t diagonal = row[0]++;
    for (size_t k = 0; k < b.size(); ++k) {
      const size_t changed = diagonal + (c != b[k]);
      diagonal = row[k + 1];
      row[k + 1] = std::min({changed, row[k + 1] + 1, row[k] + 1});
    }
  }
  return row.back();
}

}  // namespace v0_1
}  // namespace optima::sdk
