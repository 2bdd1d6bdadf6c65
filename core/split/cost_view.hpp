// SPDX-License-Identifier: Apache-2.0
// core/split: what the steps of split_by_cost() share. Private to the splitter.
#pragma once

#include <bit>
#include <cstddef>
#include <limits>
#include <vector>

#include "core/split/cost_split.hpp"

namespace optima::detail {

/// Device by unit.
using Assignment = std::vector<uint32_t>;

/// In place of a device: not settled.
constexpr uint32_t kOpen = UINT32_MAX;

constexpr double kNotAllowed = std::numeric_limits<double>::infinity();

/// Problem and costs together, with the lookups that all steps need. Borrows both.
class CostView {
 public:
  CostView(const SplitProblem& problem, const CostTable& costs);

  const SplitProblem& problem;
  const CostTable& costs;

  uint32_t units() const { return problem.units(); }
  uint32_t devices() const { return problem.devices; }
  bool allows(uint32_t unit, uint32_t device) const { return problem.allow[unit] >> device & 1; }
  /// kNotAllowed where the unit may not run.
  double compute(uint32_t unit, uint32_t device) const {
    return allows(unit, device) ? costs.compute[std::size_t{unit} * devices() + device] : kNotAllowed;
  }
  /// The allowed device with the least compute; of equals the first.
  uint32_t fastest(uint32_t unit) const;
  double move(uint32_t tensor, uint32_t from, uint32_t to) const {
    const std::size_t link = std::size_t{from} * devices() + to;
    return from == to || problem.only_order(tensor) ? 0 : costs.latency[link] + static_cast<double>(problem.bytes[tensor]) * costs.per_byte[link];
  }
  /// What sending the tensor to everybody who reads it costs.
  double send(uint32_t tensor, const Assignment& device) const;

  uint32_t producer(uint32_t tensor) const { return producer_[tensor]; }
  /// Tensors that a unit reads: inputs[first_input[u]] and on.
  std::vector<uint32_t> first_input, inputs;

  template <class F>
  void each_output(uint32_t unit, F&& f) const {
    for (uint32_t t = problem.first_tensor[unit]; t < problem.first_tensor[unit + 1]; ++t) f(t);
  }
  template <class F>
  void each_reader(uint32_t unit, F&& f) const {
    const uint32_t last = problem.first_reader[problem.first_tensor[unit + 1]];
    for (uint32_t r = problem.first_reader[problem.first_tensor[unit]]; r < last; ++r) f(problem.readers[r]);
  }

 private:
  std::vector<uint32_t> producer_;
};

/// Parts of an assignment.
struct Runs {
  std::vector<uint32_t> devices;  ///< by part
  std::vector<uint32_t> part;     ///< by unit
};

/// Cuts assignments into parts with few launches. Two devices in use: the least possible (as split()); more: the best of a greedy
/// choice from each start. Keeps its buffers between calls; one thread.
class RunFinder {
 public:
  explicit RunFinder(const CostView& view) : view_(view) {}
  double launch(const Assignment& device);  ///< microseconds; O(units + readers) for each device in use
  Runs runs(const Assignment& device);      ///< the same with the parts

 private:
  double alternate(const Assignment& device, uint32_t first, uint32_t second, std::vector<uint32_t>* sequence);
  double greedy(const Assignment& device, uint32_t start, const std::vector<uint32_t>& used, std::vector<uint32_t>* sequence);
  double best(const Assignment& device, Runs* out);
  void count_needs(const Assignment& device);
  std::vector<uint32_t> used_devices(const Assignment& device) const;

  const CostView& view_;
  std::vector<uint32_t> part_, need_, waiting_;
  std::vector<std::vector<uint32_t>> ready_;
};

/// One alpha-expansion: every unit may stay where it is or go to `target`; the best such move by a minimum cut, each crossing
/// costing `penalty` launches of the device it goes to on top. Exact where all units are on one other device (so for two devices), else
/// an upper bound is minimised that is tight where nothing moves. `pay_producer` picks which of two bounds: sending a tensor to a third
/// device for more than it would cost from `target` is charged to the producer's staying (true) or to the reader's (false). Units that
/// `settled` (empty, or by unit) has on a device other than kOpen stay out of the choice: they are there before and after.
Assignment expand(const CostView& view, const Assignment& now, uint32_t target, double penalty, bool pay_producer, const Assignment& settled = {});

/// Moves single units, connected pieces of parts and whole parts while the true time falls; at most `budget` elementary steps.
/// Returns the time reached.
PlanTime improve(const CostView& view, RunFinder& runs, Assignment& device, uint64_t budget);

/// Compute and transfer of an assignment; launch stays 0.
PlanTime time_without_launch(const CostView& view, const Assignment& device);

/// No assignment has less compute and transfer.
double bound_without_launch(const CostView& view);

}  // namespace optima::detail
