// SPDX-License-Identifier: Apache-2.0
#include "core/split/cost_within.hpp"

namespace optima {
namespace {

SplitProblem pinned(const SplitProblem& problem, const CostSplit& to) {
  SplitProblem out = problem;
  out.avoid.clear();
  for (uint32_t u = 0; u < out.units(); ++u) out.allow[u] = uint64_t{1} << to.devices[to.part[u]];
  return out;
}

void take(const SplitProblem& problem, const CostTable& costs, const Split& kept, CostSplit& out) {
  out.devices = kept.devices;
  out.part = kept.part;
  std::vector<uint32_t> device;
  for (uint32_t u = 0; u < problem.units(); ++u) device.push_back(out.devices[out.part[u]]);
  out.time = time_of(problem, costs, device);
  out.time.launch = 0;
  for (uint32_t d : out.devices) out.time.launch += costs.launch[d];
}

}  // namespace

CostSplitWithin split_by_cost_within(const SplitProblem& problem, const CostTable& costs, const SplitLimits& limits) {
  CostSplitWithin out;
  out.fastest = split_by_cost(problem, costs);
  out.kept.split.devices = out.fastest.devices;
  out.kept.split.part = out.fastest.part;
  if (limits.any()) {
    out.kept = split_within(pinned(problem, out.fastest), limits);
    out.fell_back = out.kept.conflict.has_value();
    if (out.fell_back) out.kept = split_within(problem, limits);
    if (!out.kept.conflict) take(problem, costs, out.kept.split, out.fastest);
  }
  out.kept.split.lower_bound = out.fastest.lower_bound;
  return out;
}

}  // namespace optima
