// SPDX-License-Identifier: Apache-2.0
// core/split: which units make a number of parts impossible. Private to the splitter.
#pragma once

#include <functional>

#include "core/split/split.hpp"

namespace optima::detail {

/// Fewest parts on the devices of `group` (a mask) in any plan: all other devices count as one. Exact. O(units + readers).
/// `side` (may be null) receives, by unit, what such a plan leaves of its allow set: the part on the group or the rest.
uint32_t fewest_on(const SplitProblem& problem, uint64_t group, std::vector<uint64_t>* side);

/// Units that together make `impossible` true while the others may go anywhere, and of which none can be left out: deletion
/// filtering (Chinneck and Dravnieks 1991), in stretches that halve. `impossible` must hold for the problem as it is and should
/// not come back as units become free. O(log(units) * size of the answer) calls.
std::vector<uint32_t> minimal_conflict(const SplitProblem& problem, const std::function<bool(const SplitProblem&)>& impossible);

}  // namespace optima::detail
