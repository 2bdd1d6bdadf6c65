// SPDX-License-Identifier: Apache-2.0
#include "core/split/split.hpp"

#include <algorithm>

#include "core/split/fit.hpp"
#include "core/split/order.hpp"
#include "core/split/sequence.hpp"

namespace optima {
namespace {

size_t parts_on(const Split& split, uint64_t devices) {
  return static_cast<size_t>(std::count_if(split.devices.begin(), split.devices.end(), [&](uint32_t d) { return devices >> d & 1; }));
}

bool better(const Split& a, const Split& b, uint64_t scarce) {
  if (a.devices.size() != b.devices.size()) return a.devices.size() < b.devices.size();
  if (const size_t on_a = parts_on(a, scarce), on_b = parts_on(b, scarce); on_a != on_b) return on_a < on_b;
  if (a.displaced != b.displaced) return a.displaced < b.displaced;
  return a.bytes < b.bytes;
}

bool ascending(const std::vector<uint32_t>& offsets, size_t last) {
  return !offsets.empty() && offsets.front() == 0 && offsets.back() == last && std::is_sorted(offsets.begin(), offsets.end());
}

}  // namespace

bool SplitProblem::well_formed() const {
  if (devices > kMostDevices || first_tensor.size() != allow.size() + 1 || first_reader.size() != bytes.size() + 1) return false;
  if (!ascending(first_tensor, bytes.size()) || !ascending(first_reader, readers.size())) return false;
  if (!avoid.empty() && avoid.size() != allow.size()) return false;
  if (!nodes.empty() && nodes.size() != allow.size()) return false;
  const uint64_t known = devices == kMostDevices ? ~uint64_t{0} : (uint64_t{1} << devices) - 1;
  for (uint32_t u = 0; u < units(); ++u) {
    if (allow[u] == 0 || (allow[u] & ~known)) return false;
    for (uint32_t r = first_reader[first_tensor[u]]; r < first_reader[first_tensor[u + 1]]; ++r)
      if (readers[r] <= u || readers[r] >= units()) return false;
  }
  return true;
}

uint32_t lower_bound(const SplitProblem& problem) {
  const detail::Order order = detail::order_of(problem, detail::without_dominated(problem));
  return detail::bound_of(order, detail::needs_of(order));
}

Split split(const SplitProblem& problem) {
  Split best;
  const detail::Sequences found = detail::shortest_sequences(problem, detail::without_dominated(problem));
  for (size_t i = 0; i < found.shortest.size(); ++i) {
    Split fitted = detail::fit(problem, found.shortest[i]);
    if (i == 0 || better(fitted, best, problem.scarce)) best = std::move(fitted);
  }
  best.lower_bound = found.lower_bound;
  return best;
}

}  // namespace optima
