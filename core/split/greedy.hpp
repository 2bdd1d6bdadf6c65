// SPDX-License-Identifier: Apache-2.0
// core/split: sequences of devices found by simple rules. Private to the splitter.
#pragma once

#include "core/split/order.hpp"

namespace optima::detail {

/// Sequences that every unit fits into: open a part on the device that a rule picks, run everything it can reach, repeat, from
/// each of `starts`. Rules: the device of the ready unit with the longest remaining need; the device with the most ready units.
/// All different ones of the least length found. O(starts * (units + edges) * log units).
std::vector<std::vector<uint32_t>> portfolio(const Order& order, const Need& need, const std::vector<uint32_t>& starts);

}  // namespace optima::detail
