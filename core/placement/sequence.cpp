// SPDX-License-Identifier: Apache-2.0
#include "core/placement/sequence.hpp"

#include <algorithm>
#include <bit>
#include <queue>

namespace optima::detail {
namespace {

uint64_t bit(uint32_t device) { return uint64_t{1} << device; }

std::vector<uint32_t> listed(uint64_t mask) {
  std::vector<uint32_t> out;
  for (; mask; mask &= mask - 1) out.push_back(static_cast<uint32_t>(std::countr_zero(mask)));
  return out;
}

// Length of the alternation a, b, a, ... that fits every unit, each as early as it can run.
uint32_t alternation_length(const SplitProblem& p, const std::vector<uint64_t>& allow, uint32_t a, uint32_t b) {
  const uint64_t mask[2] = {bit(a), bit(b)};
  std::vector<uint32_t> earliest(p.units(), 0);
  uint32_t last = 0;
  for (uint32_t u = 0; u < p.units(); ++u) {
    const uint32_t part = earliest[u] += !(allow[u] & mask[earliest[u] & 1]);
    last = std::max(last, part);
    for (uint32_t r = p.first_reader[p.first_tensor[u]]; r < p.first_reader[p.first_tensor[u + 1]]; ++r) {
      uint32_t& reader = earliest[p.readers[r]];
      reader = std::max(reader, part);
    }
  }
  return last + 1;
}

std::vector<uint32_t> alternation(uint32_t a, uint32_t b, uint32_t length) {
  std::vector<uint32_t> out(length);
  for (uint32_t i = 0; i < length; ++i) out[i] = i & 1 ? b : a;
  return out;
}

enum class Rule { LongestNeed, MostReady };

// Runs units greedily: open a part on the device the rule picks, run everything it can reach, repeat.
class Greedy {
 public:
  Greedy(const SplitProblem& p, const std::vector<uint64_t>& allow, const Need& need, Rule rule)
      : p_(p), allow_(allow), need_(need), rule_(rule), waiting_(p.units(), 0), done_(p.units(), 0), ready_(p.devices), count_(p.devices, 0) {
    for (uint32_t reader : p.readers) ++waiting_[reader];
    for (uint32_t u = 0; u < p.units(); ++u)
      if (waiting_[u] == 0) make_ready(u);
  }

  // The sequence from a start; empty when nothing can start there or it would be longer than `most`.
  std::vector<uint32_t> run(uint32_t start, size_t most) {
    std::vector<uint32_t> sequence;
    if (ready_[start].empty()) return sequence;
    for (uint32_t device = start;; device = next_device()) {
      sequence.push_back(device);
      run_on(device);
      if (left_ == 0) return sequence;
      if (sequence.size() >= most) return {};
    }
  }

 private:
  struct Entry {
    uint32_t need, unit;
    bool operator<(const Entry& other) const { return need != other.need ? need < other.need : unit > other.unit; }
  };

  void make_ready(uint32_t u) {
    for (uint64_t m = allow_[u]; m; m &= m - 1) {
      const auto d = static_cast<uint32_t>(std::countr_zero(m));
      ready_[d].push({need_.on_device[size_t{u} * p_.devices + d] == need_.best[u] ? need_.best[u] : 0, u});
      ++count_[d];
    }
  }

  void run_on(uint32_t device) {
    while (!ready_[device].empty()) {
      const uint32_t u = ready_[device].top().unit;
      ready_[device].pop();
      if (!done_[u]) finish(u);
    }
  }

  void finish(uint32_t u) {
    done_[u] = 1;
    --left_;
    for (uint64_t m = allow_[u]; m; m &= m - 1) --count_[static_cast<uint32_t>(std::countr_zero(m))];
    for (uint32_t r = p_.first_reader[p_.first_tensor[u]]; r < p_.first_reader[p_.first_tensor[u + 1]]; ++r)
      if (--waiting_[p_.readers[r]] == 0) make_ready(p_.readers[r]);
  }

  // The device just run has nothing ready, so it is never picked twice in a row.
  uint32_t next_device() {
    uint32_t best = 0;
    std::pair<uint32_t, uint32_t> best_score{0, 0};
    for (uint32_t d = 0; d < p_.devices; ++d) {
      while (!ready_[d].empty() && done_[ready_[d].top().unit]) ready_[d].pop();
      if (ready_[d].empty()) continue;
      std::pair<uint32_t, uint32_t> score{ready_[d].top().need, count_[d]};
      if (rule_ == Rule::MostReady) std::swap(score.first, score.second);
      if (score > best_score) best = d, best_score = score;
    }
    return best;
  }

  const SplitProblem& p_;
  const std::vector<uint64_t>& allow_;
  const Need& need_;
  Rule rule_;
  std::vector<uint32_t> waiting_;
  std::vector<uint8_t> done_;
  std::vector<std::priority_queue<Entry>> ready_;
  std::vector<uint32_t> count_;
  uint32_t left_ = p_.units();
};

std::vector<std::vector<uint32_t>> two_devices(const SplitProblem& p, const std::vector<uint64_t>& allow, uint32_t a, uint32_t b) {
  const uint32_t from_a = alternation_length(p, allow, a, b), from_b = alternation_length(p, allow, b, a);
  std::vector<std::vector<uint32_t>> out;
  if (from_a <= from_b) out.push_back(alternation(a, b, from_a));
  if (from_b <= from_a) out.push_back(alternation(b, a, from_b));
  return out;
}

std::vector<std::vector<uint32_t>> portfolio(const SplitProblem& p, const std::vector<uint64_t>& allow, const std::vector<uint32_t>& starts) {
  const Need need = needs_of(p, allow);
  std::vector<std::vector<uint32_t>> out;
  size_t most = p.units();
  for (Rule rule : {Rule::LongestNeed, Rule::MostReady})
    for (uint32_t start : starts) {
      std::vector<uint32_t> sequence = Greedy(p, allow, need, rule).run(start, most);
      if (sequence.empty()) continue;
      if (sequence.size() < most) out.clear();
      most = sequence.size();
      if (std::find(out.begin(), out.end(), sequence) == out.end()) out.push_back(std::move(sequence));
    }
  return out;
}

}  // namespace

Need needs_of(const SplitProblem& p, const std::vector<uint64_t>& allow) {
  const uint32_t k = p.devices;
  Need need{k, std::vector<uint32_t>(p.units(), 1), std::vector<uint32_t>(size_t{p.units()} * k, 1)};
  for (uint32_t u = p.units(); u-- > 0;) {
    uint32_t* mine = &need.on_device[size_t{u} * k];
    for (uint32_t r = p.first_reader[p.first_tensor[u]]; r < p.first_reader[p.first_tensor[u + 1]]; ++r) {
      const uint32_t w = p.readers[r];
      for (uint32_t d = 0; d < k; ++d) {
        const uint32_t stay = allow[w] & bit(d) ? need.on_device[size_t{w} * k + d] : need.best[w] + 1;
        mine[d] = std::max(mine[d], std::min(stay, need.best[w] + 1));
      }
    }
    uint32_t best = UINT32_MAX;
    for (uint64_t m = allow[u]; m; m &= m - 1) best = std::min(best, mine[std::countr_zero(m)]);
    need.best[u] = best;
  }
  return need;
}

std::vector<uint64_t> without_dominated(const SplitProblem& p) {
  std::vector<uint64_t> stand_in(p.devices, ~uint64_t{0});  // devices allowed wherever d is
  uint64_t used = 0;
  for (uint64_t mask : p.allow) {
    used |= mask;
    for (uint32_t d : listed(mask)) stand_in[d] &= mask;
  }
  uint64_t kept = used;
  for (uint32_t d = p.devices; d-- > 0;)  // of equals, the preferred one stays
    if ((used & bit(d)) && (stand_in[d] & kept & ~bit(d))) kept &= ~bit(d);
  std::vector<uint64_t> allow = p.allow;
  for (uint64_t& mask : allow) mask &= kept;
  return allow;
}

std::vector<std::vector<uint32_t>> shortest_sequences(const SplitProblem& p, const std::vector<uint64_t>& allow) {
  uint64_t used = 0;
  for (uint64_t mask : allow) used |= mask;
  const std::vector<uint32_t> devices = listed(used);
  if (devices.empty()) return {{}};
  if (devices.size() == 1) return {{devices[0]}};
  if (devices.size() == 2) return two_devices(p, allow, devices[0], devices[1]);
  return portfolio(p, allow, devices);
}

}  // namespace optima::detail
