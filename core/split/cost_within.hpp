// SPDX-License-Identifier: Apache-2.0
// core/split: the least time within limits.
#pragma once

#include "core/split/cost_split.hpp"
#include "core/split/limits.hpp"

namespace optima {

/// The fastest split found, and what of it may be kept.
struct CostSplitWithin {
  CostSplit fastest;        ///< devices, parts and time are those of `kept`; the bound holds for any plan
  LimitedSplit kept;        ///< lower_bound as in `fastest`
  bool fell_back = false;   ///< the fastest cannot be cut within the limits: this is the one of the fewest parts that can
};

/// split_by_cost(), then its units on their devices cut within the limits; where that cannot be, split_within() of the whole problem, which
/// may end in a conflict. Requires what those two require.
CostSplitWithin split_by_cost_within(const SplitProblem& problem, const CostTable& costs, const SplitLimits& limits);

}  // namespace optima
