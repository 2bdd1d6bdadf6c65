// SPDX-License-Identifier: Apache-2.0
// tests/support: random and special splitting problems, and a minimum found by trying everything. Shares no code with the
// splitter.
#pragma once

#include <cstdint>
#include <deque>
#include <random>
#include <vector>

#include "core/split/split.hpp"

namespace optima::test {

/// A problem from an edge list: one tensor a unit, read by all its successors.
struct SplitBuilder {
  std::vector<uint64_t> allow;
  std::vector<std::vector<uint32_t>> readers;
  std::vector<uint64_t> bytes;

  uint32_t add(uint64_t mask, uint64_t size = 1) {
    allow.push_back(mask);
    readers.emplace_back();
    bytes.push_back(size);
    return static_cast<uint32_t>(allow.size() - 1);
  }
  void edge(uint32_t from, uint32_t to) {
    if (readers[from].empty() || readers[from].back() != to) readers[from].push_back(to);
  }
  SplitProblem build(uint32_t devices) const {
    SplitProblem p;
    p.devices = devices;
    p.allow = allow;
    p.bytes = bytes;
    p.first_reader.push_back(0);
    for (uint32_t u = 0; u <= allow.size(); ++u) p.first_tensor.push_back(u);
    for (const auto& list : readers) {
      p.readers.insert(p.readers.end(), list.begin(), list.end());
      p.first_reader.push_back(static_cast<uint32_t>(p.readers.size()));
    }
    return p;
  }
};

using Random = std::mt19937_64;
inline uint32_t below(Random& random, uint32_t n) { return static_cast<uint32_t>(random() % n); }

/// Erdős-Rényi over a fixed order: each pair is an edge with probability percent / 100. Random non-empty allow sets.
inline SplitBuilder random_dag(Random& random, uint32_t units, uint32_t devices, uint32_t percent) {
  SplitBuilder b;
  for (uint32_t u = 0; u < units; ++u) b.add(1 + below(random, (1u << devices) - 1), 1 + below(random, 9));
  for (uint32_t u = 0; u < units; ++u)
    for (uint32_t w = u + 1; w < units; ++w)
      if (below(random, 100) < percent) b.edge(u, w);
  return b;
}

/// The fewest one-device pieces of any topological order, by trying every order: 0-1 search over (executed set, last device).
inline uint32_t fewest_parts(const SplitBuilder& b, uint32_t devices) {
  const auto n = static_cast<uint32_t>(b.allow.size());
  if (n == 0) return 0;
  std::vector<uint32_t> needs(n, 0);
  for (uint32_t u = 0; u < n; ++u)
    for (uint32_t w : b.readers[u]) needs[w] |= 1u << u;
  const uint32_t all = (1u << n) - 1;
  std::vector<uint32_t> best((size_t{all} + 1) * devices, UINT32_MAX);
  std::deque<uint32_t> queue;
  for (uint32_t d = 0; d < devices; ++d) best[d] = 1, queue.push_back(d);
  while (!queue.empty()) {
    const uint32_t state = queue.front(), set = state / devices, device = state % devices;
    queue.pop_front();
    if (set == all) return best[state];
    for (uint32_t u = 0; u < n; ++u) {
      if ((set >> u & 1) || (needs[u] & ~set)) continue;
      for (uint32_t d = 0; d < devices; ++d) {
        if (!(b.allow[u] >> d & 1)) continue;
        const uint32_t next = (set | 1u << u) * devices + d, cost = best[state] + (d != device);
        if (cost >= best[next]) continue;
        best[next] = cost;
        d == device ? queue.push_front(next) : queue.push_back(next);
      }
    }
  }
  return UINT32_MAX;
}

/// Empty when the split is legal for the problem, else what is wrong.
inline const char* wrong_with(const Split& s, const SplitProblem& p) {
  if (s.part.size() != p.units()) return "not one part per unit";
  std::vector<uint32_t> members(s.devices.size(), 0);
  for (uint32_t u = 0; u < p.units(); ++u) {
    if (s.part[u] >= s.devices.size()) return "no such part";
    ++members[s.part[u]];
    if (!(p.allow[u] >> s.devices[s.part[u]] & 1)) return "device not allowed";
    for (uint32_t t = p.first_tensor[u]; t < p.first_tensor[u + 1]; ++t)
      for (uint32_t r = p.first_reader[t]; r < p.first_reader[t + 1]; ++r)
        if (s.part[p.readers[r]] < s.part[u]) return "tensor runs backwards";
  }
  for (size_t i = 0; i < members.size(); ++i) {
    if (members[i] == 0) return "empty part";
    if (i > 0 && s.devices[i] == s.devices[i - 1]) return "neighbours on one device";
  }
  return "";
}

}  // namespace optima::test
