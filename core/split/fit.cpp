// SPDX-License-Identifier: Apache-2.0
#include "core/split/fit.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>

#include "core/split/bytes_sweep.hpp"
#include "core/split/bytes_windows.hpp"
#include "core/split/slack.hpp"

namespace optima::detail {
namespace {

constexpr uint32_t kMostUnitsTwice = 5'000;  // larger problems have one look at the bytes

uint64_t bit(uint32_t device) { return uint64_t{1} << device; }

class Fitter {
 public:
  Fitter(const SplitProblem& p, std::vector<uint32_t> sequence) : p_(p), sequence_(std::move(sequence)), parts_of_(p.devices), part_(p.units(), 0) {
    for (uint32_t i = 0; i < sequence_.size(); ++i) parts_of_[sequence_[i]].push_back(i);
  }

  Split run() {
    place_earliest();
    const bool any_choice = !std::all_of(p_.allow.begin(), p_.allow.end(), [](uint64_t mask) { return std::has_single_bit(mask); });
    if (any_choice) {
      prefer_backwards();
      prefer_forwards();
      relabel_parts();
    }
    lower_bytes();
    return finish();
  }

 private:
  // How many allowed devices the unit would rather have than d.
  uint32_t rank(uint32_t u, uint32_t d) const {
    const uint64_t below = p_.allow[u] & (bit(d) - 1);
    if (p_.avoid.empty() || p_.avoid[u] == 0) return static_cast<uint32_t>(std::popcount(below));
    const uint64_t avoid = p_.avoid[u];
    const uint64_t rather = avoid & bit(d) ? below | (p_.allow[u] & ~avoid) : below & ~avoid;
    return static_cast<uint32_t>(std::popcount(rather & ~bit(d)));
  }

  template <class F>
  void each_reader(uint32_t u, F&& f) const {
    for (uint32_t r = p_.first_reader[p_.first_tensor[u]]; r < p_.first_reader[p_.first_tensor[u + 1]]; ++r) f(p_.readers[r]);
  }

  std::optional<uint32_t> last_part_on(uint32_t d, uint32_t low, uint32_t high) const {
    const auto& parts = parts_of_[d];
    auto it = std::upper_bound(parts.begin(), parts.end(), high);
    if (it == parts.begin() || *--it < low) return std::nullopt;
    return *it;
  }
  std::optional<uint32_t> first_part_on(uint32_t d, uint32_t low, uint32_t high) const {
    const auto& parts = parts_of_[d];
    auto it = std::lower_bound(parts.begin(), parts.end(), low);
    if (it == parts.end() || *it > high) return std::nullopt;
    return *it;
  }

  // The first part that allows the unit, not before its producers'.
  void place_earliest() {
    for (uint32_t u = 0; u < p_.units(); ++u) {
      const uint32_t at = part_[u] = first_allowed(u, part_[u]);
      each_reader(u, [&](uint32_t w) { part_[w] = std::max(part_[w], at); });
    }
  }

  uint32_t first_allowed(uint32_t u, uint32_t at) const {
    if (p_.allow[u] & bit(sequence_[at])) return at;
    uint32_t first = UINT32_MAX;
    for (uint64_t m = p_.allow[u]; m; m &= m - 1)
      if (const auto part = first_part_on(static_cast<uint32_t>(std::countr_zero(m)), at, UINT32_MAX)) first = std::min(first, *part);
    return first;
  }

  uint32_t earliest_reader(uint32_t u) const {
    auto high = static_cast<uint32_t>(sequence_.size() - 1);
    each_reader(u, [&](uint32_t w) { high = std::min(high, part_[w]); });
    return high;
  }

  // Readers first: each unit as late as its readers let it, on the best device in its window. Going no earlier than
  // place_earliest() did keeps every producer's window open.
  void prefer_backwards() {
    for (uint32_t u = p_.units(); u-- > 0;) {
      const uint32_t low = part_[u], high = earliest_reader(u);
      part_[u] = *best_part(u, low, high, &Fitter::last_part_on);
    }
  }

  // Producers first: a second look with both ends of the window settled.
  void prefer_forwards() {
    std::vector<uint32_t> low(p_.units(), 0);
    for (uint32_t u = 0; u < p_.units(); ++u) {
      const uint32_t device = sequence_[part_[u]];
      if (rank(u, device) > 0)
        if (const auto at = best_part(u, low[u], earliest_reader(u), &Fitter::first_part_on); at && rank(u, sequence_[*at]) < rank(u, device))
          part_[u] = *at;
      each_reader(u, [&](uint32_t w) { low[w] = std::max(low[w], part_[u]); });
    }
  }

  using Finder = std::optional<uint32_t> (Fitter::*)(uint32_t, uint32_t, uint32_t) const;
  std::optional<uint32_t> best_part(uint32_t u, uint32_t low, uint32_t high, Finder find) const {
    std::optional<uint32_t> best;
    uint32_t best_rank = 0;
    for (uint64_t m = p_.allow[u]; m; m &= m - 1) {
      const auto d = static_cast<uint32_t>(std::countr_zero(m));
      const uint32_t r = rank(u, d);
      if (best && r >= best_rank) continue;
      if (const auto at = (this->*find)(d, low, high)) best = at, best_rank = r;
    }
    return best;
  }

  // A part that a more preferred device could run as a whole goes there; that can only merge parts.
  void relabel_parts() {
    const std::vector<uint32_t> candidate = devices_for_whole_parts();
    if (candidate == sequence_) return;
    std::vector<std::array<uint64_t, 2>> cost(sequence_.size(), {0, 0});  // on the present device, on the candidate
    for (uint32_t u = 0; u < p_.units(); ++u) {
      const uint32_t at = part_[u];
      cost[at][0] += weight(u) * rank(u, sequence_[at]);
      cost[at][1] += weight(u) * rank(u, candidate[at]);
    }
    for (size_t i = 0; i < sequence_.size(); ++i)
      if (cost[i][1] < cost[i][0]) sequence_[i] = candidate[i];
    compact();
  }

  // By part: the first device that takes all of it gladly, else the first that takes all of it.
  std::vector<uint32_t> devices_for_whole_parts() const {
    std::vector<uint64_t> takes(sequence_.size(), ~uint64_t{0}), gladly(sequence_.size(), ~uint64_t{0});
    for (uint32_t u = 0; u < p_.units(); ++u) {
      takes[part_[u]] &= p_.allow[u];
      gladly[part_[u]] &= p_.avoid.empty() ? p_.allow[u] : p_.allow[u] & ~p_.avoid[u];
    }
    std::vector<uint32_t> device = sequence_;
    for (size_t i = 0; i < device.size(); ++i)
      if (takes[i] != ~uint64_t{0}) device[i] = static_cast<uint32_t>(std::countr_zero(gladly[i] ? gladly[i] : takes[i]));
    return device;
  }

  // Drops empty parts and joins neighbours on one device; unit numbers keep their order.
  void compact() {
    std::vector<uint8_t> used(sequence_.size(), 0);
    for (uint32_t part : part_) used[part] = 1;
    std::vector<uint32_t> renamed(sequence_.size()), kept;
    for (uint32_t i = 0; i < sequence_.size(); ++i) {
      if (used[i] && (kept.empty() || kept.back() != sequence_[i])) kept.push_back(sequence_[i]);
      renamed[i] = kept.empty() ? 0 : static_cast<uint32_t>(kept.size() - 1);
    }
    for (uint32_t& part : part_) part = renamed[part];
    sequence_ = std::move(kept);
    for (auto& parts : parts_of_) parts.clear();
    for (uint32_t i = 0; i < sequence_.size(); ++i) parts_of_[sequence_[i]].push_back(i);
  }

  // From where the units are and, as that may end elsewhere, from each unit's latest part: the better end counts.
  void lower_bytes() {
    if (sequence_.size() < 3) return;  // no device has a second part
    const Reads reads(p_);
    std::vector<uint32_t> late;
    if (p_.units() <= kMostUnitsTwice) late = Slack(p_, sequence_, part_).latest;
    lower_bytes_of(part_, reads);
    if (late.empty()) return;
    lower_bytes_of(late, reads);
    if (crossing_bytes(p_, late) < crossing_bytes(p_, part_)) part_ = std::move(late);
  }

  void lower_bytes_of(std::vector<uint32_t>& part, const Reads& reads) const {
    sweep_bytes(p_, reads, sequence_, part);
    cut_bytes(p_, reads, sequence_, part);
  }

  uint64_t weight(uint32_t u) const { return p_.nodes.empty() ? 1 : p_.nodes[u]; }

  Split finish() {
    compact();
    Split out;
    for (uint32_t u = 0; u < p_.units(); ++u) out.displaced += weight(u) * rank(u, sequence_[part_[u]]);
    out.devices = std::move(sequence_);
    out.part = std::move(part_);
    out.bytes = crossing_bytes(p_, out.part);
    return out;
  }

  const SplitProblem& p_;
  std::vector<uint32_t> sequence_;
  std::vector<std::vector<uint32_t>> parts_of_;  // by device, ascending
  std::vector<uint32_t> part_;
};

}  // namespace

Split fit(const SplitProblem& problem, const std::vector<uint32_t>& sequence) { return Fitter(problem, sequence).run(); }

}  // namespace optima::detail
