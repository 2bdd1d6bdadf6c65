// SPDX-License-Identifier: Apache-2.0
#include "core/split/shorten.hpp"

#include <algorithm>
#include <bit>

#include "core/split/beam.hpp"

namespace optima::detail {
namespace {

constexpr uint32_t kWindow = 12;          // steps looked at together
constexpr size_t kWidestWindow = 512;     // states kept in one
constexpr uint64_t kWorkPerWindow = 200'000;

using Sequence = std::vector<uint32_t>;

// Without equal neighbours: two parts of one device in a row are one.
Sequence joined(Sequence sequence) {
  sequence.erase(std::unique(sequence.begin(), sequence.end()), sequence.end());
  return sequence;
}

// By device and step: the next step at or behind it that is on the device.
class Steps {
 public:
  Steps(const Order& order, const Sequence& sequence) : length_(static_cast<uint32_t>(sequence.size())), on_(order.devices) {
    for (uint32_t i = 0; i < length_; ++i) on_[sequence[i]].push_back(i);
  }
  uint32_t first(uint64_t allow, uint32_t from) const {
    uint32_t best = length_;
    for (; allow; allow &= allow - 1) {
      const auto& steps = on_[static_cast<size_t>(std::countr_zero(allow))];
      if (const auto at = std::lower_bound(steps.begin(), steps.end(), from); at != steps.end()) best = std::min(best, *at);
    }
    return best;
  }
  uint32_t last(uint64_t allow, uint32_t to) const {
    uint32_t best = 0;
    for (; allow; allow &= allow - 1) {
      const auto& steps = on_[static_cast<size_t>(std::countr_zero(allow))];
      if (const auto at = std::upper_bound(steps.begin(), steps.end(), to); at != steps.begin()) best = std::max(best, *(at - 1));
    }
    return best;
  }

 private:
  uint32_t length_;
  std::vector<std::vector<uint32_t>> on_;
};

// The earliest step each unit can run in; empty when some unit finds none.
std::vector<uint32_t> earliest_steps(const Order& order, const Sequence& sequence) {
  const Steps steps(order, sequence);
  std::vector<uint32_t> at(order.units(), 0);
  for (uint32_t u = 0; u < order.units(); ++u) {
    if (!(order.allow[u] >> sequence[at[u]] & 1)) at[u] = steps.first(order.allow[u], at[u]);
    if (at[u] == sequence.size()) return {};
    for (uint32_t w : order.readers(u)) at[w] = std::max(at[w], at[u]);
  }
  return at;
}

std::vector<uint32_t> latest_steps(const Order& order, const Sequence& sequence) {
  const Steps steps(order, sequence);
  std::vector<uint32_t> at(order.units(), static_cast<uint32_t>(sequence.size() - 1));
  for (uint32_t u = order.units(); u-- > 0;) {
    for (uint32_t w : order.readers(u)) at[u] = std::min(at[u], at[w]);
    if (!(order.allow[u] >> sequence[at[u]] & 1)) at[u] = steps.last(order.allow[u], at[u]);
  }
  return at;
}

class Windows {
 public:
  Windows(const Order& order, Sequence sequence, uint64_t& work) : order_(order), sequence_(std::move(sequence)), work_(work) {}

  Sequence run() {
    const uint32_t stride = kWindow / 2;
    look();
    uint32_t unchanged = 0;  // windows since the last success: after a whole round without one there is none to come
    for (uint32_t from = 0; spend(0) && unchanged <= sequence_.size() / stride + 1; ++unchanged) {
      if (from >= sequence_.size()) from = 0;
      const uint32_t to = std::min(from + kWindow, static_cast<uint32_t>(sequence_.size()));
      if (search(from, to))
        unchanged = 0, from = from > stride ? from - stride : 0;
      else
        from += stride;
    }
    return std::move(sequence_);
  }

 private:
  bool spend(uint64_t amount) {
    work_ -= std::min(work_, amount);
    return work_ > 0;
  }

  void look() {
    const std::vector<uint32_t> earliest = earliest_steps(order_, sequence_);
    latest_ = latest_steps(order_, sequence_);
    by_earliest_.assign(sequence_.size(), {});
    for (uint32_t u = 0; u < order_.units(); ++u) by_earliest_[earliest[u]].push_back(u);
    spend(2 * order_.size());
  }

  bool search(uint32_t from, uint32_t to) {
    std::vector<uint32_t> units;
    for (uint32_t i = from; i < to; ++i)
      for (uint32_t u : by_earliest_[i])
        if (latest_[u] < to) units.push_back(u);
    std::sort(units.begin(), units.end());
    const Order part = part_of(order_, units);
    const uint64_t pass = part.size() * order_.devices + 1;
    const size_t width = std::clamp<size_t>(kWorkPerWindow / pass, 8, kWidestWindow);
    spend(pass * (width + 2));
    const Sequence found = beam(part, needs_of(part), width, to - from).sequence;
    if (found.empty() && !units.empty()) return false;
    Sequence next(sequence_.begin(), sequence_.begin() + from);
    next.insert(next.end(), found.begin(), found.end());
    next.insert(next.end(), sequence_.begin() + to, sequence_.end());
    sequence_ = joined(std::move(next));
    look();
    return true;
  }

  const Order& order_;
  Sequence sequence_;
  uint64_t& work_;
  std::vector<uint32_t> latest_;                     // by unit: step
  std::vector<std::vector<uint32_t>> by_earliest_;   // by step: units
};

}  // namespace

Sequence drop_steps(const Order& order, Sequence sequence, uint64_t& work) {
  for (size_t i = sequence.size(); i-- > 0 && work > order.size();) {
    Sequence shorter = sequence;
    shorter.erase(shorter.begin() + static_cast<std::ptrdiff_t>(i));
    shorter = joined(std::move(shorter));
    work -= order.size();
    if (shorter.empty() || earliest_steps(order, shorter).empty()) continue;
    sequence = std::move(shorter);
    i = std::min(i + 1, sequence.size());
  }
  return sequence;
}

Sequence search_windows(const Order& order, Sequence sequence, uint64_t& work) { return Windows(order, std::move(sequence), work).run(); }

}  // namespace optima::detail
