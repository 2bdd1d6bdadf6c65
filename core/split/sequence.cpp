// SPDX-License-Identifier: Apache-2.0
#include "core/split/sequence.hpp"

#include <algorithm>
#include <bit>

#include "core/split/beam.hpp"
#include "core/split/greedy.hpp"
#include "core/split/shorten.hpp"

namespace optima::detail {
namespace {

constexpr uint64_t kBeamWork = 6'000'000;     // units and edges looked at, roughly
constexpr size_t kNarrowest = 8, kWidest = 4096;
constexpr uint32_t kMostBeamUnits = 200'000;
constexpr uint64_t kShortenWork = 30'000'000;

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

Sequences two_devices(const SplitProblem& p, const std::vector<uint64_t>& allow, uint32_t a, uint32_t b) {
  const uint32_t from_a = alternation_length(p, allow, a, b), from_b = alternation_length(p, allow, b, a);
  Sequences out{{}, std::min(from_a, from_b)};
  if (from_a <= from_b) out.shortest.push_back(alternation(a, b, from_a));
  if (from_b <= from_a) out.shortest.push_back(alternation(b, a, from_b));
  return out;
}

class Search {
 public:
  Search(const SplitProblem& p, const std::vector<uint64_t>& allow) : order_(order_of(p, allow)), need_(needs_of(order_)) {}

  Sequences run(const std::vector<uint32_t>& devices) {
    out_ = {portfolio(order_, need_, devices), bound_of(order_, need_)};
    if (!proven() && order_.units() <= kMostBeamUnits) widen();
    if (!proven()) shorten();
    return std::move(out_);
  }

 private:
  size_t length() const { return out_.shortest[0].size(); }
  bool proven() const { return length() == out_.lower_bound; }

  void take(std::vector<uint32_t> sequence) {
    if (sequence.size() < length()) out_.shortest.clear();
    if (std::find(out_.shortest.begin(), out_.shortest.end(), sequence) == out_.shortest.end()) out_.shortest.push_back(std::move(sequence));
  }

  void widen() {
    const uint64_t pass = order_.size() * (order_.devices - 1);
    BeamResult found = beam(order_, need_, std::clamp<size_t>(kBeamWork / pass, kNarrowest, kWidest), length());
    out_.lower_bound = std::max(out_.lower_bound, found.lower_bound);
    if (!found.sequence.empty()) take(std::move(found.sequence));
  }

  void shorten() {
    uint64_t work = kShortenWork;
    const std::vector<std::vector<uint32_t>> starts = out_.shortest;
    for (const std::vector<uint32_t>& sequence : starts) take(search_windows(order_, drop_steps(order_, sequence, work), work));
  }

  const Order order_;
  const Need need_;
  Sequences out_;
};

}  // namespace

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

Sequences shortest_sequences(const SplitProblem& p, const std::vector<uint64_t>& allow) {
  uint64_t used = 0;
  for (uint64_t mask : allow) used |= mask;
  const std::vector<uint32_t> devices = listed(used);
  if (devices.empty()) return {{{}}, 0};
  if (devices.size() == 1) return {{{devices[0]}}, 1};
  if (devices.size() == 2) return two_devices(p, allow, devices[0], devices[1]);
  return Search(p, allow).run(devices);
}

}  // namespace optima::detail
