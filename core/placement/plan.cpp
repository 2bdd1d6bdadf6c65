// SPDX-License-Identifier: Apache-2.0
#include "core/placement/plan.hpp"

#include <array>

namespace optima {
namespace {
constexpr std::array<std::string_view, 7> kWhyNames = {"pinned",      "preferred",     "only-device",    "first-in-order",
                                                         "fewer-parts", "follows-group", "compile-refused"};
}

std::string_view name_of(Why why) { return kWhyNames[static_cast<size_t>(why)]; }

std::optional<Why> why_from(std::string_view name) {
  for (size_t i = 0; i < kWhyNames.size(); ++i)
    if (kWhyNames[i] == name) return static_cast<Why>(i);
  return std::nullopt;
}

}  // namespace optima
