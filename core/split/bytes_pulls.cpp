// SPDX-License-Identifier: Apache-2.0
#include "core/split/bytes_pulls.hpp"

#include <algorithm>

namespace optima::detail {
namespace {

enum class From { Before, Behind };  // where the units come from, seen from the part that draws them

class Pulls {
 public:
  Pulls(const SplitProblem& p, const Reads& reads, const Slack& slack, const std::vector<uint32_t>& sequence, const std::vector<uint32_t>& part,
        BytesCut& cut, const std::function<void()>& moved, uint64_t& budget)
      : p_(p), reads_(reads), slack_(slack), sequence_(sequence), part_(part), cut_(cut), moved_(moved), budget_(budget), asked_(p.units(), 0) {}

  void run(From from) {
    find_seeds(from);
    for (size_t begin = 0, end; begin < seeds_.size() && budget_ > 0; begin = end) {
      for (end = begin + 1; end < seeds_.size() && seeds_[end].target == seeds_[begin].target;) ++end;
      collect(from, begin, end);
      if (choices_.size() < 2) continue;  // the sweep has moved single units
      std::sort(choices_.begin(), choices_.end(), [](const PartChoice& a, const PartChoice& b) { return a.unit < b.unit; });
      if (cut_.improve(choices_, budget_)) moved_();
    }
  }

 private:
  struct Seed {
    uint32_t target, unit;
    bool operator<(const Seed& other) const { return target != other.target ? target < other.target : unit < other.unit; }
  };

  bool can_come(From from, uint32_t u, uint32_t target) const {
    if (sequence_[part_[u]] != sequence_[target]) return false;
    return from == From::Before ? part_[u] < target && slack_.latest[u] >= target : part_[u] > target && slack_.earliest[u] <= target;
  }

  // The units next to u on the far side of the part that draws: its producers, or its readers.
  template <class F>
  void each_next(From from, uint32_t u, F&& f) const {
    if (from == From::Behind) return each_reader(p_, u, f);
    for (uint32_t i = reads_.first[u]; i < reads_.first[u + 1]; ++i) f(reads_.producer[reads_.tensor[i]]);
  }

  // Loose units beside a unit of the part that draws.
  void find_seeds(From from) {
    seeds_.clear();
    const From back = from == From::Before ? From::Behind : From::Before;
    for (uint32_t u = 0; u < p_.units(); ++u) {
      if (!slack_.loose(u)) continue;
      each_next(back, u, [&](uint32_t w) {
        if (can_come(from, u, part_[w])) seeds_.push_back({part_[w], u});
      });
    }
    std::sort(seeds_.begin(), seeds_.end());
    budget_ -= std::min<uint64_t>(budget_, seeds_.size());
  }

  // The seeds of one part and all that is behind them and can come too.
  void collect(From from, size_t begin, size_t end) {
    const uint32_t target = seeds_[begin].target;
    choices_.clear();
    ++round_;
    const auto ask = [&](uint32_t u) {
      if (asked_[u] == round_ || !can_come(from, u, target)) return;
      asked_[u] = round_;
      choices_.push_back({u, std::min(part_[u], target), std::max(part_[u], target)});
    };
    for (size_t i = begin; i < end; ++i) ask(seeds_[i].unit);
    for (size_t i = 0; i < choices_.size() && choices_.size() <= kMostChoices; ++i) each_next(from, choices_[i].unit, ask);
    if (choices_.size() > kMostChoices) choices_.clear();
  }

  const SplitProblem& p_;
  const Reads& reads_;
  const Slack& slack_;
  const std::vector<uint32_t>& sequence_;
  const std::vector<uint32_t>& part_;
  BytesCut& cut_;
  const std::function<void()>& moved_;
  uint64_t& budget_;
  std::vector<Seed> seeds_;
  std::vector<uint32_t> asked_;  // by unit: the round that asked it
  std::vector<PartChoice> choices_;
  uint32_t round_ = 0;
};

}  // namespace

void pull_bytes(const SplitProblem& problem, const Reads& reads, const Slack& slack, const std::vector<uint32_t>& sequence,
                const std::vector<uint32_t>& part, BytesCut& cut, const std::function<void()>& moved, uint64_t& budget) {
  Pulls pulls(problem, reads, slack, sequence, part, cut, moved, budget);
  pulls.run(From::Before);
  pulls.run(From::Behind);
}

}  // namespace optima::detail
