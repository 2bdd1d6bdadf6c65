// SPDX-License-Identifier: Apache-2.0
#include "core/split/cost_split.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/split/cost_view.hpp"

namespace optima {
namespace detail {
namespace {

constexpr double kPenalties[] = {0, 2, 0.25, 0.5, 1};
constexpr uint32_t kMostCutWhole = 20'000;  // units; in larger problems only the first two penalties cut everything
constexpr size_t kImproved = 4;           // candidates that are improved
constexpr uint64_t kBudget = 10'000'000;  // elementary steps for each
constexpr int kMostRounds = 4;            // of expansions over all devices

struct Candidate {
  Assignment device;
  PlanTime time;
};

class Search {
 public:
  Search(const SplitProblem& problem, const CostTable& costs) : view_(problem, costs), runs_(view_) {
    for (uint64_t mask : problem.allow) used_ |= mask;
  }

  CostSplit run() {
    CostSplit out;
    const Split fewest = split(view_.problem);
    out.lower_bound = fewest.lower_bound;
    add_simple_plans(out.one_device);
    add_plan_of(fewest);
    out.bound = add_cuts() + least_launch(fewest.lower_bound);
    improve_best();
    finish(out);
    return out;
  }

 private:
  template <class F>
  void each_used(F&& f) const {
    for (uint64_t m = used_; m; m &= m - 1) f(static_cast<uint32_t>(std::countr_zero(m)));
  }

  PlanTime add(Assignment device) {
    PlanTime time = time_without_launch(view_, device);
    time.launch = runs_.launch(device);
    candidates_.push_back({std::move(device), time});
    return time;
  }

  Assignment chosen_by(auto&& device_of) const {
    Assignment out(view_.units());
    for (uint32_t u = 0; u < view_.units(); ++u) out[u] = device_of(u);
    return out;
  }

  // Everything on one device that it allows; each unit where it is fastest; each unit on its first device.
  void add_simple_plans(std::vector<double>& one_device) {
    one_device.assign(view_.devices(), kNotAllowed);
    each_used([&](uint32_t d) { one_device[d] = add(chosen_by([&](uint32_t u) { return view_.allows(u, d) ? d : view_.fastest(u); })).total(); });
    add(chosen_by([&](uint32_t u) { return view_.fastest(u); }));
    add(chosen_by([&](uint32_t u) { return static_cast<uint32_t>(std::countr_zero(view_.problem.allow[u])); }));
  }

  void add_plan_of(const Split& s) {
    add(chosen_by([&](uint32_t u) { return s.devices[s.part[u]]; }));
  }

  // Returns the bound on compute and transfer.
  double add_cuts() {
    const int devices = std::popcount(used_);
    if (devices < 2) return candidates_[0].time.total() - candidates_[0].time.launch;
    if (devices > 2) return add_expansions(), bound_without_launch(view_);
    const auto a = static_cast<uint32_t>(std::countr_zero(used_)), b = static_cast<uint32_t>(std::bit_width(used_) - 1);
    double bound = 0;
    Assignment settled, first;
    for (double penalty : kPenalties) {
      Assignment cut = expand(view_, Assignment(view_.units(), a), b, penalty, false, settled);
      if (penalty == kPenalties[1] && view_.units() > kMostCutWhole) settled = agreed(first, cut);
      if (penalty == 0) first = cut;
      const PlanTime time = add(std::move(cut));
      if (penalty == 0) bound = time.compute + time.transfer;
    }
    return bound;
  }

  // Where the least and the largest penalty agree, the ones between do too, but for few units.
  static Assignment agreed(Assignment one, const Assignment& other) {
    for (size_t u = 0; u < one.size(); ++u)
      if (one[u] != other[u]) one[u] = kOpen;
    return one;
  }

  void add_expansions() {
    for (double penalty : kPenalties)
      for (bool pay_producer : {false, true}) {
        Assignment now = chosen_by([&](uint32_t u) { return view_.fastest(u); });
        double reached = penalized(now, penalty);
        bool any = true;
        for (int round = 0; any && round < kMostRounds; ++round) {
          any = false;
          each_used([&](uint32_t d) {
            Assignment next = expand(view_, now, d, penalty, pay_producer);
            const double cost = penalized(next, penalty);
            if (cost >= reached) return;
            now = std::move(next), reached = cost, any = true;
          });
        }
        add(std::move(now));
      }
  }

  // What expansions with this penalty minimise.
  double penalized(const Assignment& device, double penalty) const {
    const PlanTime time = time_without_launch(view_, device);
    double sum = time.compute + time.transfer;
    for (uint32_t t = 0; penalty > 0 && t < view_.problem.bytes.size(); ++t) {
      uint64_t sent = uint64_t{1} << device[view_.producer(t)];
      for (uint32_t r = view_.problem.first_reader[t]; r < view_.problem.first_reader[t + 1]; ++r) {
        const uint32_t to = device[view_.problem.readers[r]];
        if (!(sent >> to & 1)) sum += penalty * view_.costs.launch[to];
        sent |= uint64_t{1} << to;
      }
    }
    return sum;
  }

  // Neighbouring parts are on different devices, so at best the two cheapest alternate.
  double least_launch(uint32_t parts) const {
    std::vector<double> launch;
    each_used([&](uint32_t d) { launch.push_back(view_.costs.launch[d]); });
    std::sort(launch.begin(), launch.end());
    if (launch.size() < 2) return parts && !launch.empty() ? launch[0] : 0;
    return launch[0] * ((parts + 1) / 2) + launch[1] * (parts / 2);
  }

  void improve_best() {
    const auto faster = [](const Candidate& a, const Candidate& b) { return a.time.total() < b.time.total(); };
    std::stable_sort(candidates_.begin(), candidates_.end(), faster);
    const auto same = [](const Candidate& a, const Candidate& b) { return a.device == b.device; };
    candidates_.erase(std::unique(candidates_.begin(), candidates_.end(), same), candidates_.end());
    for (size_t i = 0; i < std::min(kImproved, candidates_.size()); ++i) candidates_[i].time = improve(view_, runs_, candidates_[i].device, kBudget);
    std::stable_sort(candidates_.begin(), candidates_.end(), faster);
  }

  double launch_of(const std::vector<uint32_t>& devices) const {
    double sum = 0;
    for (uint32_t d : devices) sum += view_.costs.launch[d];
    return sum;
  }

  // With three devices and more, split()'s search for few parts may find what the greedy one missed.
  Runs fewest_launches(const Assignment& device) {
    Runs runs = runs_.runs(device);
    if (std::popcount(used_) < 3) return runs;
    SplitProblem pinned = view_.problem;
    pinned.avoid.clear();
    for (uint32_t u = 0; u < view_.units(); ++u) pinned.allow[u] = uint64_t{1} << device[u];
    Split searched = split(pinned);
    if (launch_of(searched.devices) < launch_of(runs.devices)) runs = {std::move(searched.devices), std::move(searched.part)};
    return runs;
  }

  void finish(CostSplit& out) {
    const Candidate& best = candidates_.front();
    Runs runs = fewest_launches(best.device);
    out.time = time_without_launch(view_, best.device);
    out.time.launch = launch_of(runs.devices);
    out.devices = std::move(runs.devices);
    out.part = std::move(runs.part);
    out.bound = std::min(out.bound, out.time.total());  // equal up to rounding when the plan is the best there is
  }

  CostView view_;
  RunFinder runs_;
  uint64_t used_ = 0;
  std::vector<Candidate> candidates_;
};

// The problem as "device d" (0) and "any other" (1), whose costs are the least of the others'.
struct OneAgainstRest {
  SplitProblem problem;
  CostTable costs;

  OneAgainstRest(const CostView& view, uint32_t device, uint64_t used) : problem(view.problem) {
    problem.devices = 2;
    problem.avoid.clear();
    costs.launch = {0, 0};
    costs.compute.resize(size_t{view.units()} * 2);
    for (uint32_t u = 0; u < view.units(); ++u) {
      double rest = kNotAllowed;
      for (uint64_t m = view.problem.allow[u] & ~(uint64_t{1} << device); m; m &= m - 1)
        rest = std::min(rest, view.compute(u, static_cast<uint32_t>(std::countr_zero(m))));
      problem.allow[u] = (view.allows(u, device) ? 1u : 0u) | (rest != kNotAllowed ? 2u : 0u);
      costs.compute[size_t{u} * 2] = view.allows(u, device) ? view.compute(u, device) : 0;
      costs.compute[size_t{u} * 2 + 1] = rest != kNotAllowed ? rest : 0;
    }
    for (std::vector<double> CostTable::*link : {&CostTable::latency, &CostTable::per_byte}) {
      double out = kNotAllowed, in = kNotAllowed;
      for (uint64_t m = used & ~(uint64_t{1} << device); m; m &= m - 1) {
        const auto other = static_cast<size_t>(std::countr_zero(m));
        out = std::min(out, (view.costs.*link)[size_t{device} * view.devices() + other]);
        in = std::min(in, (view.costs.*link)[other * view.devices() + device]);
      }
      costs.*link = {0, out, in, 0};
    }
  }
};

}  // namespace

double bound_without_launch(const CostView& view) {
  uint64_t used = 0;
  for (uint64_t mask : view.problem.allow) used |= mask;
  double best = 0;
  for (uint64_t m = used; m; m &= m - 1) {
    const OneAgainstRest two(view, static_cast<uint32_t>(std::countr_zero(m)), used);
    const CostView small(two.problem, two.costs);
    const PlanTime time = time_without_launch(small, expand(small, Assignment(small.units(), 0), 1, 0, false));
    best = std::max(best, time.total());
  }
  return best;
}

}  // namespace detail

bool CostTable::well_formed(const SplitProblem& p) const {
  const size_t k = p.devices;
  if (compute.size() != size_t{p.units()} * k || launch.size() != k || latency.size() != k * k || per_byte.size() != k * k) return false;
  const auto good = [](double cost) { return std::isfinite(cost) && cost >= 0; };
  for (uint32_t u = 0; u < p.units(); ++u)
    for (uint64_t m = p.allow[u]; m; m &= m - 1)
      if (!good(compute[u * k + static_cast<size_t>(std::countr_zero(m))])) return false;
  for (size_t i = 0; i < k * k; ++i)
    if (i / k != i % k && (!good(latency[i]) || !good(per_byte[i]))) return false;
  return std::all_of(launch.begin(), launch.end(), good);
}

CostSplit split_by_cost(const SplitProblem& problem, const CostTable& costs) { return detail::Search(problem, costs).run(); }

std::vector<PlanTime> times_by_device(const SplitProblem& problem, const CostTable& costs, const std::vector<uint32_t>& devices,
                                      const std::vector<uint32_t>& part) {
  const detail::CostView view(problem, costs);
  std::vector<PlanTime> out(problem.devices);
  for (uint32_t d : devices) out[d].launch += costs.launch[d];
  for (uint32_t u = 0; u < view.units(); ++u) {
    const uint32_t from = devices[part[u]];
    out[from].compute += costs.compute[size_t{u} * problem.devices + from];
    view.each_output(u, [&](uint32_t t) {
      uint64_t sent = uint64_t{1} << from;
      for (uint32_t r = problem.first_reader[t]; r < problem.first_reader[t + 1]; ++r) {
        const uint32_t to = devices[part[problem.readers[r]]];
        if (!(sent >> to & 1)) out[to].transfer += view.move(t, from, to);
        sent |= uint64_t{1} << to;
      }
    });
  }
  return out;
}

PlanTime time_of(const SplitProblem& problem, const CostTable& costs, const std::vector<uint32_t>& device) {
  const detail::CostView view(problem, costs);
  PlanTime time = detail::time_without_launch(view, device);
  time.launch = detail::RunFinder(view).launch(device);
  return time;
}

}  // namespace optima
