// SPDX-License-Identifier: Apache-2.0
#include "core/split/order.hpp"

#include <algorithm>
#include <bit>

namespace optima::detail {
namespace {

constexpr uint32_t kMostPairedDevices = 8;

uint64_t bit(uint32_t device) { return uint64_t{1} << device; }

// Sees the edges of `next` from their other end.
void turn(Order& order) {
  order.first_before.assign(order.units() + 1, 0);
  for (uint32_t w : order.next) ++order.first_before[w + 1];
  for (uint32_t u = 0; u < order.units(); ++u) order.first_before[u + 1] += order.first_before[u];
  std::vector<uint32_t> at(order.first_before.begin(), order.first_before.end() - 1);
  order.before.resize(order.next.size());
  for (uint32_t u = 0; u < order.units(); ++u)
    for (uint32_t w : order.readers(u)) order.before[at[w]++] = u;
}

// Ends the list of readers of the unit that is being added.
void close_unit(Order& order) {
  const auto first = order.next.begin() + order.first_next.back();
  std::sort(first, order.next.end());
  order.next.erase(std::unique(first, order.next.end()), order.next.end());
  order.first_next.push_back(static_cast<uint32_t>(order.next.size()));
}

// Parts on a and b that the units insisting on one of them need when a comes first.
uint32_t insisted_alternation(const Order& order, uint32_t a, uint32_t b, std::vector<uint32_t>& earliest) {
  const uint64_t mask[2] = {bit(a), bit(b)}, both = mask[0] | mask[1];
  std::fill(earliest.begin(), earliest.end(), 0);
  uint32_t last = 0;
  for (uint32_t u = 0; u < order.units(); ++u) {
    uint32_t part = earliest[u];
    if (!(order.allow[u] & ~both)) {
      part += !(order.allow[u] & mask[part & 1]);
      last = std::max(last, part + 1);
    }
    for (uint32_t w : order.readers(u)) earliest[w] = std::max(earliest[w], part);
  }
  return last;
}

// The most that disjoint pairs (whole) and triangles (half the sum of their pairs) of devices add up to; twice that.
uint32_t twice_disjoint_sum(const std::vector<std::vector<uint32_t>>& pair) {
  const auto k = static_cast<uint32_t>(pair.size());
  std::vector<uint32_t> best(size_t{1} << k, 0);
  for (uint32_t set = 1; set < best.size(); ++set) {
    const auto a = static_cast<uint32_t>(std::countr_zero(set));
    const uint32_t rest = set & (set - 1);
    best[set] = best[rest];
    for (uint32_t b = a + 1; b < k; ++b) {
      if (!(rest >> b & 1)) continue;
      best[set] = std::max(best[set], 2 * pair[a][b] + best[rest & ~(1u << b)]);
      for (uint32_t c = b + 1; c < k; ++c)
        if (rest >> c & 1) best[set] = std::max(best[set], pair[a][b] + pair[a][c] + pair[b][c] + best[rest & ~(1u << b) & ~(1u << c)]);
    }
  }
  return best.back();
}

uint32_t pair_bound(const Order& order, const std::vector<uint32_t>& devices) {
  const size_t k = devices.size();
  std::vector<std::vector<uint32_t>> pair(k, std::vector<uint32_t>(k, 0));
  std::vector<uint32_t> earliest(order.units());
  for (size_t a = 0; a < k; ++a)
    for (size_t b = a + 1; b < k; ++b)
      pair[a][b] = std::min(insisted_alternation(order, devices[a], devices[b], earliest),
                            insisted_alternation(order, devices[b], devices[a], earliest));
  return (twice_disjoint_sum(pair) + 1) / 2;
}

}  // namespace

Order order_of(const SplitProblem& p, const std::vector<uint64_t>& allow) {
  Order out;
  out.devices = p.devices;
  out.allow = allow;
  out.first_next.reserve(allow.size() + 1);
  out.next.reserve(p.readers.size());
  out.first_next.push_back(0);
  for (uint32_t u = 0; u < p.units(); ++u) {
    out.next.insert(out.next.end(), p.readers.begin() + p.first_reader[p.first_tensor[u]], p.readers.begin() + p.first_reader[p.first_tensor[u + 1]]);
    close_unit(out);
  }
  turn(out);
  return out;
}

Order part_of(const Order& order, const std::vector<uint32_t>& units) {
  Order out;
  out.devices = order.devices;
  out.first_next.push_back(0);
  for (uint32_t u : units) {
    out.allow.push_back(order.allow[u]);
    for (uint32_t w : order.readers(u))
      if (const auto at = std::lower_bound(units.begin(), units.end(), w); at != units.end() && *at == w)
        out.next.push_back(static_cast<uint32_t>(at - units.begin()));
    close_unit(out);
  }
  turn(out);
  return out;
}

Need needs_of(const Order& order) {
  const uint32_t k = order.devices;
  Need need{k, std::vector<uint32_t>(order.units(), 1), std::vector<uint32_t>(size_t{order.units()} * k, 1)};
  for (uint32_t u = order.units(); u-- > 0;) {
    uint32_t* mine = &need.on_device[size_t{u} * k];
    for (uint32_t w : order.readers(u))
      for (uint32_t d = 0; d < k; ++d) {
        const uint32_t stay = order.allow[w] & bit(d) ? need.on_device[size_t{w} * k + d] : need.best[w] + 1;
        mine[d] = std::max(mine[d], std::min(stay, need.best[w] + 1));
      }
    uint32_t best = UINT32_MAX;
    for (uint64_t m = order.allow[u]; m; m &= m - 1) best = std::min(best, mine[std::countr_zero(m)]);
    need.best[u] = best;
  }
  return need;
}

uint32_t bound_of(const Order& order, const Need& need) {
  uint64_t insisted = 0;
  uint32_t path = 0;
  for (uint32_t u = 0; u < order.units(); ++u) {
    path = std::max(path, need.best[u]);
    if (std::has_single_bit(order.allow[u])) insisted |= order.allow[u];
  }
  std::vector<uint32_t> devices;
  for (uint64_t m = insisted; m; m &= m - 1) devices.push_back(static_cast<uint32_t>(std::countr_zero(m)));
  const uint32_t counted = std::max(path, static_cast<uint32_t>(devices.size()));
  return devices.size() < 2 || devices.size() > kMostPairedDevices ? counted : std::max(counted, pair_bound(order, devices));
}

}  // namespace optima::detail
