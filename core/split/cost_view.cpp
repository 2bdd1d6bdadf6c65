// SPDX-License-Identifier: Apache-2.0
#include "core/split/cost_view.hpp"

namespace optima::detail {

CostView::CostView(const SplitProblem& p, const CostTable& c) : problem(p), costs(c), first_input(p.units() + 1, 0), producer_(p.bytes.size()) {
  for (uint32_t u = 0; u < p.units(); ++u) each_output(u, [&](uint32_t t) { producer_[t] = u; });
  for (uint32_t reader : p.readers) ++first_input[reader + 1];
  for (uint32_t u = 0; u < p.units(); ++u) first_input[u + 1] += first_input[u];
  inputs.resize(p.readers.size());
  std::vector<uint32_t> next(first_input.begin(), first_input.end() - 1);
  for (uint32_t t = 0; t < p.bytes.size(); ++t)
    for (uint32_t r = p.first_reader[t]; r < p.first_reader[t + 1]; ++r) inputs[next[p.readers[r]]++] = t;
}

uint32_t CostView::fastest(uint32_t unit) const {
  auto best = static_cast<uint32_t>(std::countr_zero(problem.allow[unit]));
  for (uint64_t m = problem.allow[unit]; m; m &= m - 1)
    if (const auto d = static_cast<uint32_t>(std::countr_zero(m)); compute(unit, d) < compute(unit, best)) best = d;
  return best;
}

double CostView::send(uint32_t tensor, const Assignment& device) const {
  const uint32_t from = device[producer_[tensor]];
  uint64_t sent = uint64_t{1} << from;
  double sum = 0;
  for (uint32_t r = problem.first_reader[tensor]; r < problem.first_reader[tensor + 1]; ++r) {
    const uint32_t to = device[problem.readers[r]];
    if (sent >> to & 1) continue;
    sent |= uint64_t{1} << to;
    sum += move(tensor, from, to);
  }
  return sum;
}

PlanTime time_without_launch(const CostView& view, const Assignment& device) {
  PlanTime time;
  for (uint32_t u = 0; u < view.units(); ++u) time.compute += view.compute(u, device[u]);
  for (uint32_t t = 0; t < view.problem.bytes.size(); ++t) time.transfer += view.send(t, device);
  return time;
}

}  // namespace optima::detail
