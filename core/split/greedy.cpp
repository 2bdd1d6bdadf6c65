// SPDX-License-Identifier: Apache-2.0
#include "core/split/greedy.hpp"

#include <algorithm>
#include <bit>
#include <queue>

namespace optima::detail {
namespace {

enum class Rule { LongestNeed, MostReady };

class Greedy {
 public:
  Greedy(const Order& order, const Need& need, Rule rule)
      : order_(order), need_(need), rule_(rule), waiting_(order.units()), done_(order.units(), 0), ready_(order.devices), count_(order.devices, 0) {
    for (uint32_t u = 0; u < order.units(); ++u) waiting_[u] = static_cast<uint32_t>(order.producers(u).size());
    for (uint32_t u = 0; u < order.units(); ++u)
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
    for (uint64_t m = order_.allow[u]; m; m &= m - 1) {
      const auto d = static_cast<uint32_t>(std::countr_zero(m));
      ready_[d].push({need_.on_device[size_t{u} * order_.devices + d] == need_.best[u] ? need_.best[u] : 0, u});
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
    for (uint64_t m = order_.allow[u]; m; m &= m - 1) --count_[static_cast<uint32_t>(std::countr_zero(m))];
    for (uint32_t w : order_.readers(u))
      if (--waiting_[w] == 0) make_ready(w);
  }

  // The device just run has nothing ready, so it is never picked twice in a row.
  uint32_t next_device() {
    uint32_t best = 0;
    std::pair<uint32_t, uint32_t> best_score{0, 0};
    for (uint32_t d = 0; d < order_.devices; ++d) {
      while (!ready_[d].empty() && done_[ready_[d].top().unit]) ready_[d].pop();
      if (ready_[d].empty()) continue;
      std::pair<uint32_t, uint32_t> score{ready_[d].top().need, count_[d]};
      if (rule_ == Rule::MostReady) std::swap(score.first, score.second);
      if (score > best_score) best = d, best_score = score;
    }
    return best;
  }

  const Order& order_;
  const Need& need_;
  Rule rule_;
  std::vector<uint32_t> waiting_;
  std::vector<uint8_t> done_;
  std::vector<std::priority_queue<Entry>> ready_;
  std::vector<uint32_t> count_;
  uint32_t left_ = order_.units();
};

}  // namespace

std::vector<std::vector<uint32_t>> portfolio(const Order& order, const Need& need, const std::vector<uint32_t>& starts) {
  std::vector<std::vector<uint32_t>> out;
  size_t most = order.units();
  for (Rule rule : {Rule::LongestNeed, Rule::MostReady})
    for (uint32_t start : starts) {
      std::vector<uint32_t> sequence = Greedy(order, need, rule).run(start, most);
      if (sequence.empty()) continue;
      if (sequence.size() < most) out.clear();
      most = sequence.size();
      if (std::find(out.begin(), out.end(), sequence) == out.end()) out.push_back(std::move(sequence));
    }
  return out;
}

}  // namespace optima::detail
