// SPDX-License-Identifier: Apache-2.0
#include "core/split/conflict.hpp"

#include <algorithm>

namespace optima::detail {
namespace {

// By unit, the earliest part of the alternation that starts on the group (`start` 0) or off it (1).
std::vector<uint32_t> alternate(const SplitProblem& p, uint64_t group, uint32_t start) {
  std::vector<uint32_t> part(p.units(), 0);
  for (uint32_t u = 0; u < p.units(); ++u) {
    const bool on_group = ((part[u] + start) & 1) == 0;
    part[u] += !(p.allow[u] & (on_group ? group : ~group));
    for (uint32_t r = p.first_reader[p.first_tensor[u]]; r < p.first_reader[p.first_tensor[u + 1]]; ++r) {
      uint32_t& reader = part[p.readers[r]];
      reader = std::max(reader, part[u]);
    }
  }
  return part;
}

}  // namespace

uint32_t fewest_on(const SplitProblem& p, uint64_t group, std::vector<uint64_t>* side) {
  uint32_t best = UINT32_MAX;
  for (uint32_t start : {1u, 0u}) {
    const std::vector<uint32_t> part = alternate(p, group, start);
    const uint32_t length = part.empty() ? 0 : *std::max_element(part.begin(), part.end()) + 1;
    const uint32_t on_group = (length + 1 - start) / 2;
    if (on_group >= best) continue;
    best = on_group;
    if (!side) continue;
    side->resize(p.units());
    for (uint32_t u = 0; u < p.units(); ++u) (*side)[u] = p.allow[u] & (((part[u] + start) & 1) == 0 ? group : ~group);
  }
  return best;
}

std::vector<uint32_t> minimal_conflict(const SplitProblem& problem, const std::function<bool(const SplitProblem&)>& impossible) {
  const uint64_t anywhere = problem.devices == kMostDevices ? ~uint64_t{0} : (uint64_t{1} << problem.devices) - 1;
  SplitProblem p = problem;
  std::vector<uint32_t> kept;
  for (uint32_t u = 0; u < p.units(); ++u)
    if (p.allow[u] != anywhere) kept.push_back(u);
  for (size_t stretch = std::max<size_t>(1, kept.size() / 2);; stretch = std::max<size_t>(1, stretch / 2)) {
    std::vector<uint32_t> still;
    for (size_t at = 0; at < kept.size(); at += stretch) {
      const size_t end = std::min(kept.size(), at + stretch);
      for (size_t i = at; i < end; ++i) p.allow[kept[i]] = anywhere;
      if (impossible(p)) continue;  // not needed, whatever else stays
      for (size_t i = at; i < end; ++i) p.allow[kept[i]] = problem.allow[kept[i]], still.push_back(kept[i]);
    }
    kept = std::move(still);
    if (stretch == 1) return kept;
  }
}

}  // namespace optima::detail
