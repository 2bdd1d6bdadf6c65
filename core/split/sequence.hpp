// SPDX-License-Identifier: Apache-2.0
// core/split: finds the sequence of devices a split runs through. Private to the splitter.
#pragma once

#include <cstdint>
#include <vector>

#include "core/split/split.hpp"

namespace optima::detail {

/// Removes from each unit the devices that another device can stand in for everywhere: that never adds a part.
std::vector<uint64_t> without_dominated(const SplitProblem& problem);

struct Sequences {
  std::vector<std::vector<uint32_t>> shortest;  ///< every unit can be fitted into each; all of one length, at least one
  uint32_t lower_bound = 0;                     ///< no plan has fewer parts
};

/// Sequences of devices, the shortest found. `allow` is a subset of problem.allow with no empty entry that keeps the minimum
/// (without_dominated()). One and two devices: exact, one pass each way round. More: portfolio, then beam, then steps dropped,
/// then windows searched anew; each only as far as a fixed amount of work allows, counted in units and edges.
Sequences shortest_sequences(const SplitProblem& problem, const std::vector<uint64_t>& allow);

}  // namespace optima::detail
