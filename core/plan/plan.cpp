// SPDX-License-Identifier: Apache-2.0
#include "core/plan/plan.hpp"

#include <algorithm>
#include <array>

namespace optima {
namespace {
constexpr std::array<std::string_view, 12> kWhyNames = {"pinned", "preferred",     "only-device",  "first-in-order", "fewer-parts",
                                                         "cost",   "follows-group", "follows-unit", "capacity",       "compile-refused",
                                                         "cloned", "host-driven"};
}

std::string_view name_of(Why why) { return kWhyNames[static_cast<size_t>(why)]; }

size_t count_subgraphs(const Plan& plan) {
  size_t count = plan.subgraphs.size();
  for (const BodyPlan& body : plan.bodies) count += count_subgraphs(body.plan);
  return count;
}

std::optional<Why> why_from(std::string_view name) {
  for (size_t i = 0; i < kWhyNames.size(); ++i)
    if (kWhyNames[i] == name) return static_cast<Why>(i);
  return std::nullopt;
}

std::vector<uint32_t> Subgraph::run_nodes() const {
  std::vector<uint32_t> all = nodes;
  for (const Clone& clone : clones) all.push_back(clone.node);
  std::sort(all.begin(), all.end());
  return all;
}

}  // namespace optima
