// SPDX-License-Identifier: Apache-2.0
#include "core/split/bytes_sweep.hpp"

#include <algorithm>

namespace optima::detail {
namespace {

constexpr uint32_t kMostReadersPriced = 64;  // pricing a move walks all readers of the unit's tensors
constexpr int kSweeps = 3;                   // later ones find little

class Sweeper {
 public:
  Sweeper(const SplitProblem& p, const Reads& reads, const std::vector<uint32_t>& sequence, std::vector<uint32_t>& part)
      : p_(p), reads_(reads), sequence_(sequence), part_(part), settled_(p.units(), 0), parts_of_(p.devices) {
    for (uint32_t i = 0; i < sequence.size(); ++i) parts_of_[sequence[i]].push_back(i);
  }

  void run() {
    for (int sweep = 0; sweep < kSweeps; ++sweep) {
      bool moved = false;
      for (uint32_t u = 0; u < p_.units(); ++u) moved |= look_at(u);
      for (uint32_t u = p_.units(); u-- > 0;) moved |= look_at(u);
      if (!moved) return;
    }
  }

 private:
  bool too_wide(uint32_t u) const {
    uint64_t readers = p_.first_reader[p_.first_tensor[u + 1]] - p_.first_reader[p_.first_tensor[u]];
    for (uint32_t i = reads_.first[u]; i < reads_.first[u + 1] && readers <= kMostReadersPriced; ++i)
      readers += p_.first_reader[reads_.tensor[i] + 1] - p_.first_reader[reads_.tensor[i]];
    return readers > kMostReadersPriced;
  }

  // Bytes that u's own tensors and its inputs add when u sits in part `at`; other units' share is the same for every `at`.
  uint64_t price(uint32_t u, uint32_t at) {
    uint64_t sum = 0;
    for (uint32_t t = p_.first_tensor[u]; t < p_.first_tensor[u + 1]; ++t) sum += p_.bytes[t] * reading_parts(p_, part_, t, at, seen_);
    for (uint32_t i = reads_.first[u]; i < reads_.first[u + 1]; ++i) {
      const uint32_t t = reads_.tensor[i];
      bool there_already = part_[reads_.producer[t]] == at;
      for (uint32_t r = p_.first_reader[t]; r < p_.first_reader[t + 1] && !there_already; ++r)
        there_already = p_.readers[r] != u && part_[p_.readers[r]] == at;
      if (!there_already) sum += p_.bytes[t];
    }
    return sum;
  }

  // Looks again only at units with a neighbour that moved since: on a million units most of the time goes into looking.
  bool look_at(uint32_t u) {
    if (settled_[u]) return false;
    settled_[u] = 1;
    if (!move_cheaper(u)) return false;
    for (uint32_t i = reads_.first[u]; i < reads_.first[u + 1]; ++i) settled_[reads_.producer[reads_.tensor[i]]] = 0;
    for (uint32_t r = p_.first_reader[p_.first_tensor[u]]; r < p_.first_reader[p_.first_tensor[u + 1]]; ++r) settled_[p_.readers[r]] = 0;
    return true;
  }

  bool move_cheaper(uint32_t u) {
    const uint32_t now = part_[u];
    uint32_t low = 0, high = static_cast<uint32_t>(sequence_.size() - 1);
    for (uint32_t i = reads_.first[u]; i < reads_.first[u + 1]; ++i) low = std::max(low, part_[reads_.producer[reads_.tensor[i]]]);
    for (uint32_t r = p_.first_reader[p_.first_tensor[u]]; r < p_.first_reader[p_.first_tensor[u + 1]]; ++r)
      high = std::min(high, part_[p_.readers[r]]);
    if (high - low < 2 || too_wide(u)) return false;  // two parts of one device are at least two apart
    const auto& parts = parts_of_[sequence_[now]];
    uint32_t best = now;
    uint64_t best_price = price(u, now);
    for (const uint32_t at : {*std::lower_bound(parts.begin(), parts.end(), low), *(std::upper_bound(parts.begin(), parts.end(), high) - 1)}) {
      if (at == now) continue;
      if (const uint64_t cost = price(u, at); cost < best_price) best = at, best_price = cost;
    }
    part_[u] = best;
    return best != now;
  }

  const SplitProblem& p_;
  const Reads& reads_;
  const std::vector<uint32_t>& sequence_;
  std::vector<uint32_t>& part_;
  std::vector<uint8_t> settled_;
  std::vector<std::vector<uint32_t>> parts_of_;  // by device, ascending
  std::vector<uint32_t> seen_;                   // scratch
};

}  // namespace

void sweep_bytes(const SplitProblem& problem, const Reads& reads, const std::vector<uint32_t>& sequence, std::vector<uint32_t>& part) {
  Sweeper(problem, reads, sequence, part).run();
}

uint64_t reading_parts(const SplitProblem& p, const std::vector<uint32_t>& part, uint32_t tensor, uint32_t home, std::vector<uint32_t>& seen) {
  seen.clear();
  for (uint32_t r = p.first_reader[tensor]; r < p.first_reader[tensor + 1]; ++r)
    if (const uint32_t at = part[p.readers[r]]; at != home && (seen.empty() || seen.back() != at)) seen.push_back(at);
  if (seen.size() < 2) return seen.size();
  std::sort(seen.begin(), seen.end());
  return static_cast<uint64_t>(std::unique(seen.begin(), seen.end()) - seen.begin());
}

uint64_t crossing_bytes(const SplitProblem& p, const std::vector<uint32_t>& part) {
  uint64_t sum = 0;
  std::vector<uint32_t> seen;
  for (uint32_t u = 0; u < p.units(); ++u)
    for (uint32_t t = p.first_tensor[u]; t < p.first_tensor[u + 1]; ++t) sum += p.bytes[t] * reading_parts(p, part, t, part[u], seen);
  return sum;
}

}  // namespace optima::detail
