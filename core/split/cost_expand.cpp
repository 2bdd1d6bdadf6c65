// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/min_cut/min_cut.hpp"
#include "core/split/cost_view.hpp"

namespace optima::detail {
namespace {

// The source's side stays, the sink's side goes to the target.
class Expansion {
 public:
  Expansion(const CostView& view, const Assignment& now, uint32_t target, double penalty, bool pay_producer, const Assignment& settled)
      : view_(view), now_(now), target_(target), penalty_(penalty), pay_producer_(pay_producer), settled_(settled), node_(view.units()) {}

  Assignment run() {
    for (uint32_t u = 0; u < view_.units(); ++u) add_unit(u);
    for (uint32_t t = 0; t < view_.problem.bytes.size(); ++t) add_tensor(t);
    const std::vector<uint8_t> stays = cut_.source_side();
    Assignment out = now_;
    for (uint32_t u = 0; u < view_.units(); ++u)
      if (!stays[node_[u]]) out[u] = target_;
    return out;
  }

 private:
  void add_unit(uint32_t u) {
    const uint32_t only = settled_.empty() ? kOpen : settled_[u];
    const bool can_go = view_.allows(u, target_) && (only == kOpen || only == target_);
    const bool can_stay = view_.allows(u, now_[u]) && now_[u] != target_ && only != target_;
    node_[u] = can_stay && can_go ? cut_.add_node() : can_go ? MinCut::kSink : MinCut::kSource;
    if (!can_stay || !can_go) return;
    cut_.arc(node_[u], MinCut::kSink, view_.compute(u, now_[u]));
    cut_.arc(MinCut::kSource, node_[u], view_.compute(u, target_));
  }

  double crossing(uint32_t tensor, uint32_t from, uint32_t to) const {
    return from == to ? 0 : view_.move(tensor, from, to) + penalty_ * view_.costs.launch[to];
  }

  void add_tensor(uint32_t t) {
    const uint32_t from = now_[view_.producer(t)], p = node_[view_.producer(t)];
    const uint32_t first = view_.problem.first_reader[t], last = view_.problem.first_reader[t + 1];
    double to_target = crossing(t, from, target_);
    if (last - first == 1) {
      const uint32_t r = view_.problem.readers[first];
      if (node_[r] != MinCut::kSink) to_target -= add_stay(t, p, from, now_[r], node_[r], to_target);
      cut_.arc(p, node_[r], to_target);
      return;
    }
    add_goers(t, p, to_target);
    groups_.clear();
    for (uint32_t i = first; i < last; ++i)
      if (const uint32_t r = view_.problem.readers[i]; node_[r] != MinCut::kSink) groups_.emplace_back(now_[r], node_[r]);
    std::sort(groups_.begin(), groups_.end());
    for (size_t i = 0, end; i < groups_.size(); i = end) {
      for (end = i; end < groups_.size() && groups_[end].first == groups_[i].first;) ++end;
      add_stay(t, p, from, groups_[i].first, any_stays(t, i, end), 0);
    }
  }

  // Paid once when the producer stays and any reader goes.
  void add_goers(uint32_t t, uint32_t p, double cost) {
    if (cost == 0 || p == MinCut::kSink) return;
    const uint32_t helper = cut_.add_node_near(p);
    cut_.arc(p, helper, cost);
    for (uint32_t i = view_.problem.first_reader[t]; i < view_.problem.first_reader[t + 1]; ++i)
      cut_.arc(helper, node_[view_.problem.readers[i]], MinCut::kNever);
  }

  // A node that is on the source's side when any reader of the group is.
  uint32_t any_stays(uint32_t t, size_t begin, size_t end) {
    if (groups_[begin].second == MinCut::kSource) return MinCut::kSource;  // sorted: the source comes first
    if (end - begin == 1) return groups_[begin].second;
    const uint32_t helper = cut_.add_node_near(node_[view_.producer(t)]);
    for (size_t i = begin; i < end; ++i) cut_.arc(groups_[i].second, helper, MinCut::kNever);
    return helper;
  }

  // Paid when readers stay on `device`: what the tensor costs from where it is when the producer stays, from the target when it
  // goes. For a tensor with one reader, `spare` is what is paid when only that reader goes: up to so much of "both stay" is exact; the
  // return value is how much of it was used.
  double add_stay(uint32_t t, uint32_t p, uint32_t from, uint32_t device, uint32_t stays, double spare) {
    const double here = crossing(t, from, device), there = crossing(t, target_, device);
    cut_.arc(stays, MinCut::kSink, std::min(here, there));
    if (here <= there) {
      cut_.arc(stays, p, there - here);
      return 0;
    }
    const double over = here - there;
    const bool exact = p != MinCut::kSource && p != MinCut::kSink && over <= spare;
    if (p == MinCut::kSource || (stays != MinCut::kSource && !exact && !pay_producer_)) {
      if (p != MinCut::kSink) cut_.arc(stays, MinCut::kSink, over);
      return 0;
    }
    cut_.arc(p, MinCut::kSink, over);
    return exact ? over : 0;
  }

  const CostView& view_;
  const Assignment& now_;
  const uint32_t target_;
  const double penalty_;
  const bool pay_producer_;
  const Assignment& settled_;
  MinCut cut_;
  std::vector<uint32_t> node_;  // by unit
  std::vector<std::pair<uint32_t, uint32_t>> groups_;  // of one tensor: device, node
};

}  // namespace

Assignment expand(const CostView& view, const Assignment& now, uint32_t target, double penalty, bool pay_producer, const Assignment& settled) {
  return Expansion(view, now, target, penalty, pay_producer, settled).run();
}

}  // namespace optima::detail
