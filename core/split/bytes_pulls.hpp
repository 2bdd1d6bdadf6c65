// SPDX-License-Identifier: Apache-2.0
// core/split: fewer crossing bytes by drawing chains of units into one part. Private to the splitter.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/split/bytes_cut.hpp"
#include "core/split/slack.hpp"

namespace optima::detail {

/// For every part: units of its device that its own units read from, directly or through each other, may each come here from
/// where they are; one minimum cut decides for all of them. Then the same with what reads from the part's units. That reaches
/// parts far away, which a window does not. Calls `moved` after each cut that makes fewer bytes cross. Work is taken from `budget`.
void pull_bytes(const SplitProblem& problem, const Reads& reads, const Slack& slack, const std::vector<uint32_t>& sequence,
                const std::vector<uint32_t>& part, BytesCut& cut, const std::function<void()>& moved, uint64_t& budget);

}  // namespace optima::detail
