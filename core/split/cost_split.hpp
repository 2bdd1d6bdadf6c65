// SPDX-License-Identifier: Apache-2.0
// core/split: splitting for the least time of one run, on bare numbers. Knows no graph, plugin or device name.
#pragma once

#include <cstdint>
#include <vector>

#include "core/split/split.hpp"

namespace optima {

/// What running and moving costs, in microseconds. All entries that are read are finite and not negative.
struct CostTable {
  std::vector<double> compute;   ///< unit * devices + d: one run of the unit on d; read only where the unit allows d
  std::vector<double> launch;    ///< by device: starting one part
  std::vector<double> latency;   ///< from * devices + to: moving one tensor, whatever its size; the diagonal is not read
  std::vector<double> per_byte;  ///< from * devices + to: each byte of it

  /// True when the sizes fit the problem and every entry that is read is finite and not negative.
  bool well_formed(const SplitProblem& problem) const;
};

/// A plan's time, in microseconds.
struct PlanTime {
  double compute = 0, launch = 0, transfer = 0;
  double total() const { return compute + launch + transfer; }
};

/// A plan chosen by time: as Split, with its time and what no plan can go below.
struct CostSplit {
  std::vector<uint32_t> devices;   ///< by part, in run order; neighbours differ, none is empty
  std::vector<uint32_t> part;      ///< by unit
  PlanTime time;
  double bound = 0;                ///< no plan takes less time, microseconds
  uint32_t lower_bound = 0;        ///< no plan has fewer parts
  std::vector<double> one_device;  ///< by device: time of everything there that it allows, the rest where it is fastest; +inf when not used
};

/// Least of: sum of compute(unit, its device) + sum over parts of launch(its device) + sum over tensors and each other device that
/// reads the tensor of latency + bytes * per_byte. Where a tensor was already sent it is not sent again.
///
/// Two devices without launch costs: exact, one s-t minimum cut (H. Stone, IEEE TSE 3(1), 1977; a tensor with several readers is paid
/// once through two helper nodes; V. Kolmogorov's and Y. Boykov's algorithm, PAMI 26(9), 2004). Launches are no cut: the cut is repeated
/// with 0, 1/4, 1/2, 1 and 2 launches on each crossing; in problems of more than 20,000 units those between 0 and 2 move only units on
/// which the two differ. More devices: alpha-expansion (Boykov, Veksler, Zabih, PAMI 23(11), 2001), whose
/// moves are such cuts. The best of these, of every one-device plan, of the plan that gives each unit its first device, and of
/// split()'s plan is then improved by moving single units, connected pieces of a part, and parts while the true time falls. So the
/// result is never slower than any of those plans.
///
/// Bound: the largest over devices d of the cut "d against all others at their cheapest", plus the launches of the fewest parts.
/// Deterministic: work is bounded by counts, never by clocks. Requires problem.well_formed() and costs.well_formed(problem).
CostSplit split_by_cost(const SplitProblem& problem, const CostTable& costs);

/// What moving one unit alone to another device would change.
struct MoveEffect {
  double slower = 0;       ///< microseconds that the plan takes longer
  int32_t more_parts = 0;
};

/// By unit * devices + device; zero where the unit is already or may not be. In problems too large to cut again for every move
/// (units * devices * (units + readers) over 1e8), launches and parts are left out.
std::vector<MoveEffect> effects_of_moves(const SplitProblem& problem, const CostTable& costs, const CostSplit& split);

/// By device: the compute and launches of its parts, and the transfers of tensors that come to it. `devices` is by part, `part` by unit.
std::vector<PlanTime> times_by_device(const SplitProblem& problem, const CostTable& costs, const std::vector<uint32_t>& devices,
                                      const std::vector<uint32_t>& part);

/// Time of an assignment (device by unit) cut into the cheapest parts found.
PlanTime time_of(const SplitProblem& problem, const CostTable& costs, const std::vector<uint32_t>& device);

}  // namespace optima
