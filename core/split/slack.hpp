// SPDX-License-Identifier: Apache-2.0
// core/split: which parts of a sequence each unit could be in. Private to the splitter.
#pragma once

#include <cstdint>
#include <vector>

#include "core/split/split.hpp"

namespace optima::detail {

/// The first and the last part that a unit could be in on its device, if all others moved too. From one forward and one backward
/// pass over a legal plan, O(units + readers) for few devices.
struct Slack {
  Slack(const SplitProblem& problem, const std::vector<uint32_t>& sequence, const std::vector<uint32_t>& part);

  std::vector<uint32_t> earliest, latest;  ///< by unit
  bool loose(uint32_t unit) const { return earliest[unit] < latest[unit]; }
};

/// Calls f(unit) for every reader of every tensor of u.
template <class F>
void each_reader(const SplitProblem& p, uint32_t u, F&& f) {
  for (uint32_t r = p.first_reader[p.first_tensor[u]]; r < p.first_reader[p.first_tensor[u + 1]]; ++r) f(p.readers[r]);
}

}  // namespace optima::detail
