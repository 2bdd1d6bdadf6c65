// SPDX-License-Identifier: Apache-2.0
#include "core/split/bytes_windows.hpp"

#include <algorithm>

#include "core/split/bytes_cut.hpp"
#include "core/split/bytes_pulls.hpp"
#include "core/split/slack.hpp"

namespace optima::detail {
namespace {

constexpr uint64_t kLeastWork = 4'000'000, kWorkPerReader = 16;  // visits; see BytesCut::improve
constexpr int kMostRounds = 4;              // later ones find little
constexpr uint32_t kMostUnitsPulled = 200'000;  // finding what to pull takes longer than it is worth beyond
constexpr uint32_t kNone = UINT32_MAX;

class Windows {
 public:
  Windows(const SplitProblem& p, const Reads& reads, const std::vector<uint32_t>& sequence, std::vector<uint32_t>& part)
      : p_(p), reads_(reads), sequence_(sequence), part_(part), slack_(p, sequence, part), cut_(p, reads, part), members_(sequence.size()),
        changed_(sequence.size(), 0), looked_at_(sequence.size(), 0), budget_(std::max(kLeastWork, kWorkPerReader * p.readers.size())) {}

  void run() {
    if (!any_loose()) return;
    bool moved = true;
    for (int round = 0; moved && round < kMostRounds; ++round) {
      list_loose_units();
      moved = false;
      uint32_t end = 0;
      for (uint32_t begin = 0; begin < sequence_.size(); ++begin) {
        const uint32_t last = end;
        end = end_of_window(begin);
        if (end > last && changed_since_looked_at(begin, end)) moved |= improve(begin, end);
      }
      if (p_.units() > kMostUnitsPulled) continue;
      const auto note = [&] { moved = true, note_changes(); };
      pull_bytes(p_, reads_, slack_, sequence_, part_, cut_, note, budget_);
    }
  }

 private:
  bool any_loose() const {
    for (uint32_t u = 0; u < p_.units(); ++u)
      if (slack_.loose(u)) return true;
    return false;
  }

  void list_loose_units() {
    for (auto& list : members_) list.clear();
    for (uint32_t u = 0; u < p_.units(); ++u)
      if (slack_.loose(u)) members_[part_[u]].push_back(u);
  }

  uint32_t end_of_window(uint32_t begin) {
    low_.assign(p_.devices, kNone), high_.assign(p_.devices, kNone);
    for (uint32_t at = begin; at < sequence_.size(); ++at) {
      const uint32_t d = sequence_[at];
      if (high_[d] != kNone) return at;
      (low_[d] == kNone ? low_ : high_)[d] = at;
    }
    return static_cast<uint32_t>(sequence_.size());
  }

  bool changed_since_looked_at(uint32_t begin, uint32_t end) const {
    return std::any_of(changed_.begin() + begin, changed_.begin() + end, [&](uint64_t when) { return when >= looked_at_[begin]; });
  }

  // The parts of units whose price may have changed.
  void note_changes() {
    ++now_;
    const auto note = [&](uint32_t u) { changed_[part_[u]] = now_; };
    for (uint32_t u : cut_.moved()) {
      each_reader(p_, u, note);
      for (uint32_t i = reads_.first[u]; i < reads_.first[u + 1]; ++i) {
        const uint32_t t = reads_.tensor[i];
        note(reads_.producer[t]);
        for (uint32_t r = p_.first_reader[t]; r < p_.first_reader[t + 1]; ++r) note(p_.readers[r]);
      }
    }
  }

  void collect(uint32_t begin, uint32_t end) {
    choices_.clear();
    for (uint32_t at = begin; at < end && choices_.size() <= kMostChoices; ++at)
      if (const uint32_t d = sequence_[at]; high_[d] != kNone)
        for (uint32_t u : members_[at]) choices_.push_back({u, low_[d], high_[d]});
  }

  bool improve(uint32_t begin, uint32_t end) {
    looked_at_[begin] = ++now_;
    collect(begin, end);
    if (choices_.empty() || choices_.size() > kMostChoices) return false;
    std::sort(choices_.begin(), choices_.end(), [](const PartChoice& a, const PartChoice& b) { return a.unit < b.unit; });
    if (!cut_.improve(choices_, budget_)) return false;
    for (const PartChoice& c : choices_) members_[c.low].clear(), members_[c.high].clear();
    for (const PartChoice& c : choices_) members_[part_[c.unit]].push_back(c.unit);
    note_changes();
    return true;
  }

  const SplitProblem& p_;
  const Reads& reads_;
  const std::vector<uint32_t>& sequence_;
  std::vector<uint32_t>& part_;
  const Slack slack_;
  BytesCut cut_;
  std::vector<std::vector<uint32_t>> members_;  // by part: loose units
  std::vector<uint32_t> low_, high_;            // by device: its parts in the window
  std::vector<PartChoice> choices_;
  uint64_t now_ = 0;                            // counts looks and changes
  std::vector<uint64_t> changed_;               // by part: when a unit's price there may have changed last
  std::vector<uint64_t> looked_at_;             // by first part of a window
  uint64_t budget_;
};

}  // namespace

void cut_bytes(const SplitProblem& problem, const Reads& reads, const std::vector<uint32_t>& sequence, std::vector<uint32_t>& part) {
  Windows(problem, reads, sequence, part).run();
}

}  // namespace optima::detail
