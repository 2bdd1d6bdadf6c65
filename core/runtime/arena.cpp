// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/arena.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace optima {
namespace {

uint64_t round_up(uint64_t n, uint64_t alignment) { return (n + alignment - 1) / alignment * alignment; }

// Items already placed that are alive together with `item`, by offset.
std::vector<const ArenaItem*> neighbours(const ArenaItem& item, const std::vector<const ArenaItem*>& placed) {
  std::vector<const ArenaItem*> out;
  for (const ArenaItem* p : placed)
    if (p->first <= item.last && item.first <= p->last) out.push_back(p);
  std::sort(out.begin(), out.end(), [](const auto* a, const auto* b) { return a->offset < b->offset; });
  return out;
}

}  // namespace

uint64_t assign_offsets(std::span<ArenaItem> items) {
  std::vector<size_t> order(items.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return items[a].size > items[b].size; });
  std::vector<const ArenaItem*> placed;
  uint64_t total = 0;
  for (const size_t i : order) {
    ArenaItem& item = items[i];
    uint64_t at = 0;
    for (const ArenaItem* n : neighbours(item, placed)) {
      if (round_up(at, item.alignment) + item.size <= n->offset) break;
      at = std::max(at, n->offset + n->size);
    }
    item.offset = round_up(at, item.alignment);
    total = std::max(total, item.offset + item.size);
    placed.push_back(&item);
  }
  return total;
}

}  // namespace optima
