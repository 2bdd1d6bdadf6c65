// SPDX-License-Identifier: Apache-2.0
#include "core/split/cost_view.hpp"

namespace optima {
namespace {

constexpr uint64_t kMostSteps = 100'000'000;  // beyond, parts are not counted for every move

}  // namespace

std::vector<MoveEffect> effects_of_moves(const SplitProblem& problem, const CostTable& costs, const CostSplit& split) {
  const detail::CostView view(problem, costs);
  detail::RunFinder runs(view);
  detail::Assignment device;
  for (uint32_t part : split.part) device.push_back(split.devices[part]);
  const PlanTime before = time_of(problem, costs, device);
  const auto parts_before = static_cast<int32_t>(runs.runs(device).devices.size());
  const uint64_t steps = uint64_t{view.units()} * view.devices() * (view.units() + problem.readers.size());
  std::vector<MoveEffect> out(size_t{view.units()} * view.devices());
  for (uint32_t u = 0; u < view.units(); ++u) {
    const uint32_t home = device[u];
    const auto local = [&] {
      double sum = view.compute(u, device[u]);
      view.each_output(u, [&](uint32_t t) { sum += view.send(t, device); });
      for (uint32_t i = view.first_input[u]; i < view.first_input[u + 1]; ++i) sum += view.send(view.inputs[i], device);
      return sum;
    };
    const double here = local();
    for (uint32_t d = 0; d < view.devices(); ++d) {
      if (d == home || !view.allows(u, d)) continue;
      MoveEffect& effect = out[size_t{u} * view.devices() + d];
      device[u] = d;
      effect.slower = local() - here;
      if (steps <= kMostSteps) {
        const detail::Runs moved = runs.runs(device);
        for (uint32_t m : moved.devices) effect.slower += costs.launch[m];
        effect.slower -= before.launch;
        effect.more_parts = static_cast<int32_t>(moved.devices.size()) - parts_before;
      }
    }
    device[u] = home;
  }
  return out;
}

}  // namespace optima
