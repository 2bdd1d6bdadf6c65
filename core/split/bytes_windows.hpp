// SPDX-License-Identifier: Apache-2.0
// core/split: fewer crossing bytes by minimum cuts over a few parts at a time. Private to the splitter.
#pragma once

#include <cstdint>
#include <vector>

#include "core/split/reads.hpp"
#include "core/split/split.hpp"

namespace optima::detail {

/// Slides a window over the parts of a legal plan, as long as no device comes a third time in it (four parts of two devices), and
/// puts its units where the fewest bytes cross while all others stay: one minimum cut each (BytesCut). Then draws chains into
/// parts further away (pull_bytes; up to 200,000 units). A few rounds of that, until nothing moves or the work is used up, which
/// grows with the problem. Where the whole sequence is one window, the answer is the least there is for this sequence and these
/// devices of the units. Bytes only fall; a part may end empty.
void cut_bytes(const SplitProblem& problem, const Reads& reads, const std::vector<uint32_t>& sequence, std::vector<uint32_t>& part);

}  // namespace optima::detail
