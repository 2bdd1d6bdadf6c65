// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <utility>

#include "core/split/cost_view.hpp"

namespace optima::detail {
namespace {

// A step must gain more than rounding can.
constexpr double kLeastGain = 1e-9;

class Climber {
 public:
  Climber(const CostView& view, RunFinder& runs, Assignment& device, uint64_t budget)
      : view_(view), runs_(runs), device_(device), budget_(budget), time_(time_without_launch(view, device)),
        most_launch_(view.costs.launch.empty() ? 0 : *std::max_element(view.costs.launch.begin(), view.costs.launch.end())) {
    time_.launch = runs.launch(device);
  }

  PlanTime run() {
    bool any = view_.units() > 0;
    while (any) {
      any = move_units();
      any |= move_pieces();
    }
    return time_;
  }

 private:
  // The units that `group` may take along to `target`; what they cost there and here, without launches.
  double gain_of(const std::vector<uint32_t>& moved, uint32_t target) {
    tensors_.clear();
    for (uint32_t u : moved) {
      view_.each_output(u, [&](uint32_t t) { tensors_.push_back(t); });
      tensors_.insert(tensors_.end(), view_.inputs.begin() + view_.first_input[u], view_.inputs.begin() + view_.first_input[u + 1]);
    }
    std::sort(tensors_.begin(), tensors_.end());
    tensors_.erase(std::unique(tensors_.begin(), tensors_.end()), tensors_.end());
    before_ = after_ = {};
    account(moved, before_);
    from_.clear();
    for (uint32_t u : moved) from_.push_back(std::exchange(device_[u], target));
    account(moved, after_);
    return before_.total() - after_.total();
  }
  void account(const std::vector<uint32_t>& moved, PlanTime& out) {
    for (uint32_t u : moved) out.compute += view_.compute(u, device_[u]);
    for (uint32_t t : tensors_) {
      out.transfer += view_.send(t, device_);
      spend(view_.problem.first_reader[t + 1] - view_.problem.first_reader[t]);
    }
    spend(moved.size());
  }
  void undo(const std::vector<uint32_t>& moved) {
    for (size_t i = 0; i < moved.size(); ++i) device_[moved[i]] = from_[i];
  }

  // Launches are counted only when the rest leaves hope: `hope` is the most that they can fall by.
  bool try_move(const std::vector<uint32_t>& moved, uint32_t target, double hope) {
    if (moved.empty() || left_ == 0) return false;
    const double gain = gain_of(moved, target), least = kLeastGain * (1 + time_.total());
    if (gain + hope > least) {
      spend(view_.units() + view_.problem.readers.size());
      const double launch = runs_.launch(device_);
      if (gain + time_.launch - launch > least) {
        time_.compute += after_.compute - before_.compute;
        time_.transfer += after_.transfer - before_.transfer;
        time_.launch = launch;
        return true;
      }
    }
    undo(moved);
    return false;
  }

  bool move_units() {
    bool any = false;
    std::vector<uint32_t> one(1);
    for (uint32_t u = 0; u < view_.units(); ++u)
      for (uint64_t m = view_.problem.allow[u]; m; m &= m - 1) {
        const auto target = static_cast<uint32_t>(std::countr_zero(m));
        one[0] = u;
        // Alone in a part of its own, the unit splits one other part at most.
        if (target != device_[u]) any |= try_move(one, target, view_.costs.launch[device_[u]] + most_launch_);
      }
    return any;
  }

  bool move_pieces() {
    bool any = false;
    const Runs runs = runs_.runs(device_);
    std::vector<std::vector<uint32_t>> parts(runs.devices.size());
    for (uint32_t u = 0; u < view_.units(); ++u) parts[runs.part[u]].push_back(u);
    for (const std::vector<uint32_t>& part : parts) any |= move_group(part);
    for (const std::vector<uint32_t>& piece : pieces_of(runs)) any |= move_group(piece);
    return any;
  }

  bool move_group(const std::vector<uint32_t>& group) {
    bool any = false;
    for (uint32_t target = 0; target < view_.devices() && left_ > 0; ++target) {
      moved_.clear();
      for (uint32_t u : group)
        if (device_[u] != target && view_.allows(u, target)) moved_.push_back(u);
      any |= try_move(moved_, target, time_.launch);
    }
    return any;
  }

  // Connected pieces of parts that are not whole parts and not single units.
  std::vector<std::vector<uint32_t>> pieces_of(const Runs& runs) {
    std::vector<uint32_t> root(view_.units());
    std::iota(root.begin(), root.end(), 0u);
    const auto find = [&](uint32_t u) {
      while (root[u] != u) u = root[u] = root[root[u]];
      return u;
    };
    for (uint32_t u = 0; u < view_.units(); ++u)
      view_.each_reader(u, [&](uint32_t w) {
        if (runs.part[u] == runs.part[w]) root[std::max(find(u), find(w))] = std::min(find(u), find(w));
      });
    std::vector<std::vector<uint32_t>> all(view_.units()), out;
    for (uint32_t u = 0; u < view_.units(); ++u) all[find(u)].push_back(u);
    for (std::vector<uint32_t>& piece : all)
      if (piece.size() > 1) out.push_back(std::move(piece));
    return out;
  }

  void spend(uint64_t steps) { left_ -= std::min(left_, steps); }

  const CostView& view_;
  RunFinder& runs_;
  Assignment& device_;
  const uint64_t budget_;
  uint64_t left_ = budget_;
  PlanTime time_, before_, after_;
  const double most_launch_;
  std::vector<uint32_t> tensors_, from_, moved_;
};

}  // namespace

PlanTime improve(const CostView& view, RunFinder& runs, Assignment& device, uint64_t budget) { return Climber(view, runs, device, budget).run(); }

}  // namespace optima::detail
