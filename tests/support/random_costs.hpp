// SPDX-License-Identifier: Apache-2.0
// tests/support: random costs, and the least time found by trying every assignment and every order of devices. Shares no code with
// the splitter.
#pragma once

#include <algorithm>
#include <limits>

#include "core/split/cost_split.hpp"
#include "tests/support/random_split.hpp"

namespace optima::test {

/// Whole numbers, so that equal times are equal. `metric`: moving over a third device is never cheaper.
inline CostTable random_costs(Random& random, uint32_t units, uint32_t devices, uint32_t launch, bool metric) {
  CostTable c;
  for (uint32_t i = 0; i < units * devices; ++i) c.compute.push_back(1 + below(random, 20));
  for (uint32_t d = 0; d < devices; ++d) c.launch.push_back(below(random, launch + 1));
  for (uint32_t i = 0; i < devices * devices; ++i) {
    c.latency.push_back(metric ? 3 + below(random, 4) : below(random, 6));
    c.per_byte.push_back(metric ? 1 : below(random, 3));
  }
  return c;
}

class Enumeration {
 public:
  Enumeration(const SplitBuilder& b, const CostTable& costs, uint32_t devices)
      : b_(b), c_(costs), k_(devices), device_(b.allow.size()), needs_(b.allow.size(), 0) {
    for (uint32_t u = 0; u < b.allow.size(); ++u)
      for (uint32_t w : b.readers[u]) needs_[w] |= 1u << u;
  }
  double least() {
    if (device_.empty()) return 0;
    try_unit(0, 0);
    return best_;
  }
  /// Compute and transfer of an assignment, then its fewest launches.
  double time(const std::vector<uint32_t>& device) {
    device_ = device;
    double sum = 0;
    for (uint32_t u = 0; u < device.size(); ++u) sum += c_.compute[u * k_ + device[u]];
    return sum + transfers() + launches(0, k_, std::numeric_limits<double>::infinity());
  }

 private:
  void try_unit(uint32_t u, double compute) {
    if (compute >= best_) return;
    if (u == device_.size()) {
      const double fixed = compute + transfers();
      if (fixed < best_) best_ = std::min(best_, fixed + launches(0, k_, best_ - fixed));
      return;
    }
    for (uint32_t d = 0; d < k_; ++d)
      if (b_.allow[u] >> d & 1) device_[u] = d, try_unit(u + 1, compute + c_.compute[u * k_ + d]);
  }
  double transfers() const {
    double sum = 0;
    for (uint32_t u = 0; u < device_.size(); ++u)
      for (uint32_t to = 0; to < k_; ++to) {
        bool reads = false;
        for (uint32_t w : b_.readers[u]) reads |= device_[w] == to;
        if (reads && to != device_[u])
          sum += c_.latency[device_[u] * k_ + to] + static_cast<double>(b_.bytes[u]) * c_.per_byte[device_[u] * k_ + to];
      }
    return sum;
  }
  // Least launches from an executed set on, when no more than `most` helps; every device but the last may come next.
  double launches(uint32_t done, uint32_t last, double most) const {
    if (done == (1u << device_.size()) - 1) return 0;
    double best = std::numeric_limits<double>::infinity();
    for (uint32_t d = 0; d < k_; ++d) {
      if (d == last || c_.launch[d] > most) continue;
      uint32_t set = done, before;
      do {
        before = set;
        for (uint32_t u = 0; u < device_.size(); ++u)
          if (device_[u] == d && !(needs_[u] & ~set)) set |= 1u << u;
      } while (set != before);
      if (set == done) continue;
      best = std::min(best, c_.launch[d] + launches(set, d, std::min(most, best) - c_.launch[d]));
    }
    return best;
  }

  const SplitBuilder& b_;
  const CostTable& c_;
  const uint32_t k_;
  std::vector<uint32_t> device_, needs_;
  double best_ = std::numeric_limits<double>::infinity();
};

}  // namespace optima::test
