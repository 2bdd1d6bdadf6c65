// SPDX-License-Identifier: Apache-2.0
// core/backend: which plugin comes before which.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/backend/manifest.hpp"

namespace optima {

/// Smaller comes first: ids that the user put in order, then high priority, then the id. Points into the manifest.
inline std::tuple<std::ptrdiff_t, int64_t, std::string_view> rank_of(const Manifest& m, const std::vector<std::string>& order) {
  return {std::find(order.begin(), order.end(), m.id) - order.begin(), -m.priority, m.id};
}

}  // namespace optima
