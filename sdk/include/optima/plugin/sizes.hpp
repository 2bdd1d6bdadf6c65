// SPDX-License-Identifier: Apache-2.0
// optima/plugin/sizes.hpp: what the user said of sizes that come with the inputs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "optima/plugin/error.hpp"

namespace optima::sdk {
inline namespace v0_1 {

/// optima_size_range as a view: the sizes that dims of inputs with this symbol may have.
struct SizeRange {
  std::string_view symbol;
  int64_t min, max, step;
  int64_t opt;                  ///< the size that matters most, one of them; -1 = nobody said
  Span<const int64_t> listed;   ///< ascending: these alone; empty = no list

  /// The one of them that is next to `size`; the smaller one of two.
  int64_t nearest_to(int64_t size) const {
    if (size <= min) return min;
    if (size >= max) return max;
    int64_t below = min + (size - min) / step * step, above = std::min(below + step, max);
    if (!listed.empty()) {
      const auto* const at = std::lower_bound(listed.begin(), listed.end(), size);
      below = *(at - 1), above = *at;
    }
    return size - below <= above - size ? below : above;
  }
};

}  // namespace v0_1
}  // namespace optima::sdk
