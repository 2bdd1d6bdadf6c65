// SPDX-License-Identifier: Apache-2.0
#include "core/split/slack.hpp"

#include <algorithm>

namespace optima::detail {

Slack::Slack(const SplitProblem& p, const std::vector<uint32_t>& sequence, const std::vector<uint32_t>& part)
    : earliest(p.units(), 0), latest(p.units(), static_cast<uint32_t>(sequence.size() - 1)) {
  for (uint32_t u = 0; u < p.units(); ++u) {
    while (sequence[earliest[u]] != sequence[part[u]]) ++earliest[u];
    each_reader(p, u, [&](uint32_t w) { earliest[w] = std::max(earliest[w], earliest[u]); });
  }
  for (uint32_t u = p.units(); u-- > 0;) {
    each_reader(p, u, [&](uint32_t w) { latest[u] = std::min(latest[u], latest[w]); });
    while (sequence[latest[u]] != sequence[part[u]]) --latest[u];
  }
}

}  // namespace optima::detail
