// SPDX-License-Identifier: Apache-2.0
// core/quantize: whether anything is to become codes at all. Private to the room.
#pragma once

#include <algorithm>

#include "core/quantize/sites.hpp"

namespace optima::detail {

inline bool is_integer(Precision p) { return is_static(p) || is_weights_only(p) || p == Precision::Auto; }

inline bool integer_wanted(const QuantizeOptions& options) {
  return is_integer(options.precision) || std::any_of(options.by_node.begin(), options.by_node.end(), [](const auto& one) { return is_integer(one.second); });
}

}  // namespace optima::detail
