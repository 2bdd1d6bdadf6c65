// SPDX-License-Identifier: Apache-2.0
// core/split: makes a sequence of devices shorter. Private to the splitter.
#pragma once

#include "core/split/order.hpp"

namespace optima::detail {

/// Drops single steps that the later ones make up for, as long as there are any. `work` bounds the units and edges looked at and
/// falls by what was used. Deterministic.
std::vector<uint32_t> drop_steps(const Order& order, std::vector<uint32_t> sequence, uint64_t& work);

/// Searches windows of neighbouring steps anew: those units that can run neither before the window nor behind it are a small
/// problem of their own (large neighbourhood search), whose answer replaces the window when it is shorter. As drop_steps().
std::vector<uint32_t> search_windows(const Order& order, std::vector<uint32_t> sequence, uint64_t& work);

}  // namespace optima::detail
