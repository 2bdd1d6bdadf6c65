// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/split/cost_view.hpp"

namespace optima::detail {

std::vector<uint32_t> RunFinder::used_devices(const Assignment& device) const {
  uint64_t used = 0;
  for (uint32_t d : device) used |= uint64_t{1} << d;
  std::vector<uint32_t> out;
  for (; used; used &= used - 1) out.push_back(static_cast<uint32_t>(std::countr_zero(used)));
  return out;
}

// Every unit in the earliest part of first, second, first, ... that is its device's; leaves part_. kNotAllowed when nothing can start
// on the first.
double RunFinder::alternate(const Assignment& device, uint32_t first, uint32_t second, std::vector<uint32_t>* sequence) {
  part_.assign(view_.units(), 0);
  uint32_t last = 0;
  bool starts = false;
  for (uint32_t u = 0; u < view_.units(); ++u) {
    const uint32_t at = part_[u] += device[u] != ((part_[u] & 1) ? second : first);
    last = std::max(last, at);
    starts |= at == 0;
    view_.each_reader(u, [&](uint32_t w) { part_[w] = std::max(part_[w], at); });
  }
  if (!starts) return kNotAllowed;
  const std::vector<double>& launch = view_.costs.launch;
  if (sequence)
    for (uint32_t i = 0; i <= last; ++i) sequence->push_back(i & 1 ? second : first);
  return launch[first] * (last / 2 + 1) + launch[second] * ((last + 1) / 2);
}

// By unit: how many parts remain from it on, at least.
void RunFinder::count_needs(const Assignment& device) {
  need_.assign(view_.units(), 1);
  for (uint32_t u = view_.units(); u-- > 0;)
    view_.each_reader(u, [&](uint32_t w) { need_[u] = std::max(need_[u], need_[w] + (device[u] != device[w])); });
}

// Runs everything that the device of the part can reach, then goes on with the device whose ready units need most parts.
double RunFinder::greedy(const Assignment& device, uint32_t start, const std::vector<uint32_t>& used, std::vector<uint32_t>* sequence) {
  part_.assign(view_.units(), 0);
  waiting_.resize(view_.units());
  for (uint32_t u = 0; u < view_.units(); ++u) waiting_[u] = view_.first_input[u + 1] - view_.first_input[u];
  ready_.assign(view_.devices(), {});
  for (uint32_t u = 0; u < view_.units(); ++u)
    if (waiting_[u] == 0) ready_[device[u]].push_back(u);
  if (ready_[start].empty()) return kNotAllowed;
  double sum = 0;
  uint32_t part = 0;
  for (uint32_t now = start;; ++part) {
    sum += view_.costs.launch[now];
    if (sequence) sequence->push_back(now);
    std::vector<uint32_t>& mine = ready_[now];
    for (size_t i = 0; i < mine.size(); ++i) {
      part_[mine[i]] = part;
      view_.each_reader(mine[i], [&](uint32_t w) {
        if (--waiting_[w] == 0) ready_[device[w]].push_back(w);
      });
    }
    mine.clear();
    uint32_t most = 0;
    for (uint32_t d : used) {
      uint32_t need = 0;
      for (uint32_t u : ready_[d]) need = std::max(need, need_[u]);
      if (need > most) most = need, now = d;
    }
    if (most == 0) return sum;
  }
}

double RunFinder::best(const Assignment& device, Runs* out) {
  const std::vector<uint32_t> used = used_devices(device);
  double least = used.empty() ? 0 : kNotAllowed;
  const auto consider = [&](auto&& find) {
    std::vector<uint32_t> sequence;
    const double sum = find(out ? &sequence : nullptr);
    if (sum >= least && !(out && out->devices.empty() && sum == least)) return;
    least = sum;
    if (out) *out = {std::move(sequence), part_};
  };
  if (used.size() == 1) {
    consider([&](auto* s) { return alternate(device, used[0], used[0], s); });
  } else if (used.size() == 2) {
    consider([&](auto* s) { return alternate(device, used[0], used[1], s); });
    consider([&](auto* s) { return alternate(device, used[1], used[0], s); });
  } else if (used.size() > 2) {
    count_needs(device);
    for (uint32_t start : used) consider([&](auto* s) { return greedy(device, start, used, s); });
  }
  return least;
}

double RunFinder::launch(const Assignment& device) { return best(device, nullptr); }

Runs RunFinder::runs(const Assignment& device) {
  Runs out;
  best(device, &out);
  return out;
}

}  // namespace optima::detail
