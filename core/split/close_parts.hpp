// SPDX-License-Identifier: Apache-2.0
// core/split: cuts parts that are too much for their device. Private to the splitter.
#pragma once

#include "core/split/limits.hpp"

namespace optima::detail {

/// The split with every part that is over its device's limits cut into several on the same device: connected pieces first, then
/// stretches of unit numbers, each as long as fits. Keeps the order legal. A unit that is too much by itself stays alone.
Split close_parts(const SplitProblem& problem, const SplitLimits& limits, const Split& split);

/// Units that a part begins or ends with and may not, one Loss for each unit.
std::vector<Loss> bad_ends(const SplitProblem& problem, const SplitLimits& limits, const Split& split);

/// By unit: tensors it reads from outside and gives away when it is a part of its own.
std::vector<uint64_t> tensors_alone(const SplitProblem& problem, const SplitLimits& limits);

}  // namespace optima::detail
