// SPDX-License-Identifier: Apache-2.0
// core/split: which units come before which, and where each may run; all that the search for a sequence of devices looks
// at. Private to the splitter.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/split/split.hpp"

namespace optima::detail {

/// Units in topological order, each edge once whatever the number of tensors behind it.
struct Order {
  uint32_t devices = 0;
  std::vector<uint64_t> allow;                      ///< by unit, never 0
  std::vector<uint32_t> first_next, next;           ///< readers of unit u: next[first_next[u]..first_next[u + 1])
  std::vector<uint32_t> first_before, before;       ///< the same edges seen from the reader

  uint32_t units() const { return static_cast<uint32_t>(allow.size()); }
  size_t size() const { return allow.size() + next.size(); }  ///< what one pass costs
  std::span<const uint32_t> readers(uint32_t u) const { return {next.data() + first_next[u], next.data() + first_next[u + 1]}; }
  std::span<const uint32_t> producers(uint32_t u) const { return {before.data() + first_before[u], before.data() + first_before[u + 1]}; }
};

/// `allow` is a subset of problem.allow with no empty entry.
Order order_of(const SplitProblem& problem, const std::vector<uint64_t>& allow);

/// The part of an order that consists of `units` (ascending), numbered anew from 0.
Order part_of(const Order& order, const std::vector<uint32_t>& units);

/// The least remaining number of parts from each unit on, when the unit itself runs on its best device or on device d.
struct Need {
  uint32_t devices = 0;
  std::vector<uint32_t> best;       ///< by unit
  std::vector<uint32_t> on_device;  ///< unit * devices + d; only meaningful for allowed d
};
/// Backward pass: need(u, d) = max over readers w of min over d' in allow(w) of need(w, d') + (d' != d), at least 1.
/// O(devices * (units + edges)).
Need needs_of(const Order& order);

/// Parts that no plan can do without, the greatest of three counts. (1) The longest need of any unit. (2) Devices that some unit
/// insists on. (3) For each pair of devices the exact alternation for those units that may run nowhere else, every other unit
/// standing in nobody's way, holds for the parts on these two; pairs and triangles of devices that share none add up.
/// O(devices^2 * (units + edges)); (3) is left out above 8 devices.
uint32_t bound_of(const Order& order, const Need& need);

}  // namespace optima::detail
