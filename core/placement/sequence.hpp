// SPDX-License-Identifier: Apache-2.0
// core/placement: finds the sequence of devices a split runs through. Private to the splitter.
#pragma once

#include <cstdint>
#include <vector>

#include "core/placement/split.hpp"

namespace optima::detail {

/// The least remaining number of parts from each unit on, when the unit itself runs on its best device or on device d.
struct Need {
  uint32_t devices = 0;
  std::vector<uint32_t> best;       ///< by unit
  std::vector<uint32_t> on_device;  ///< unit * devices + d; only meaningful for allowed d
};
/// Backward pass: need(u, d) = max over readers w of min over d' in allow(w) of need(w, d') + (d' != d), at least 1.
Need needs_of(const SplitProblem& problem, const std::vector<uint64_t>& allow);

/// Removes from each unit the devices that another device can stand in for everywhere: that never adds a part.
std::vector<uint64_t> without_dominated(const SplitProblem& problem);

/// Sequences of devices that every unit can be fitted into, shortest first found; all of the least length found.
/// `allow` is a subset of problem.allow with no empty entry.
std::vector<std::vector<uint32_t>> shortest_sequences(const SplitProblem& problem, const std::vector<uint64_t>& allow);

}  // namespace optima::detail
