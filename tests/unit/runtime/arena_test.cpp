// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/arena.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace optima;

namespace {

bool overlaps(const ArenaItem& a, const ArenaItem& b) {
  const bool together = a.first <= b.last && b.first <= a.last;
  return together && a.size && b.size && a.offset < b.offset + b.size && b.offset < a.offset + a.size;
}

}  // namespace

TEST_CASE("items that are never alive together share their place") {
  std::vector<ArenaItem> items = {{100, 64, 0, 1, 0}, {100, 64, 1, 2, 0}, {100, 64, 2, 3, 0}};
  CHECK(assign_offsets(items) == 228);
  CHECK(items[0].offset == items[2].offset);
  CHECK(items[0].offset != items[1].offset);
}

TEST_CASE("an empty set needs nothing, a zero-sized item a legal offset") {
  std::vector<ArenaItem> none;
  CHECK(assign_offsets(none) == 0);
  std::vector<ArenaItem> items = {{0, 64, 0, 0, 0}, {10, 64, 0, 0, 0}};
  CHECK(assign_offsets(items) == 10);
}

TEST_CASE("random items never overlap, keep their alignment, and need at least what is alive at once") {
  uint64_t state = 1;
  const auto next = [&](uint64_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % below;
  };
  for (int round = 0; round < 200; ++round) {
    std::vector<ArenaItem> items(1 + next(40));
    for (ArenaItem& i : items) {
      i.size = next(5000);
      i.alignment = uint64_t{64} << next(4);
      i.first = static_cast<uint32_t>(next(20));
      i.last = i.first + static_cast<uint32_t>(next(8));
    }
    const uint64_t total = assign_offsets(items);
    uint64_t alive = 0;
    for (uint32_t step = 0; step < 28; ++step) {
      uint64_t now = 0;
      for (const ArenaItem& i : items) now += i.first <= step && step <= i.last ? i.size : 0;
      alive = std::max(alive, now);
    }
    REQUIRE(total >= alive);
    for (size_t a = 0; a < items.size(); ++a) {
      REQUIRE(items[a].offset % items[a].alignment == 0);
      REQUIRE(items[a].offset + items[a].size <= total);
      for (size_t b = 0; b < a; ++b) REQUIRE_FALSE(overlaps(items[a], items[b]));
    }
  }
}
