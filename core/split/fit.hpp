// SPDX-License-Identifier: Apache-2.0
// core/split: fits units into a given sequence of devices. Private to the splitter.
#pragma once

#include <cstdint>
#include <vector>

#include "core/split/split.hpp"

namespace optima::detail {

/// Puts each unit into a part of the sequence (which must be long enough for all), preferred devices first, then fewest bytes.
/// Every intermediate state is a legal plan. Parts that end empty are dropped and equal neighbours merged, so the answer may
/// be shorter than the sequence. `lower_bound` is left 0.
Split fit(const SplitProblem& problem, const std::vector<uint32_t>& sequence);

}  // namespace optima::detail
