// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>

#include "core/package/package.hpp"
#include "optima/plugin/meta_keys.hpp"

namespace optima {

double tolerance_of(const Package& package) {
  constexpr double kLeast = 1e-4, kMost = 0.1;
  double share = kLeast;
  for (const PackageVariant& variant : package.variants)
    for (const PackageSubgraph& subgraph : variant.subgraphs)
      for (const auto& [key, value] : subgraph.meta)
        if (key == sdk::kMetaTolerance) share = std::max(share, std::min(std::strtod(value.c_str(), nullptr), kMost));
  return share;
}

}  // namespace optima
