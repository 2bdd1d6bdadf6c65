// SPDX-License-Identifier: Apache-2.0
// The steps of the search for a sequence of three and more devices, each on its own.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>

#include "core/split/beam.hpp"
#include "core/split/greedy.hpp"
#include "core/split/sequence.hpp"
#include "core/split/shorten.hpp"
#include "tests/support/split_families.hpp"

using namespace optima;
using namespace optima::detail;
using namespace optima::test;

namespace {

Order order_for(const SplitBuilder& b, uint32_t devices) {
  const SplitProblem p = b.build(devices);
  return order_of(p, p.allow);
}

// Every unit runs when the devices of the sequence take their turns.
bool completes(const SplitBuilder& b, const std::vector<uint32_t>& sequence) {
  std::vector<uint8_t> done(b.allow.size(), 0);
  for (uint32_t device : sequence)
    for (uint32_t u = 0; u < b.allow.size(); ++u) {
      bool ready = b.allow[u] >> device & 1;
      for (uint32_t from = 0; from < u && ready; ++from)
        ready = done[from] || std::find(b.readers[from].begin(), b.readers[from].end(), u) == b.readers[from].end();
      done[u] |= ready;
    }
  return std::all_of(done.begin(), done.end(), [](uint8_t d) { return d; });
}

}  // namespace

TEST_CASE("the portfolio alone is near the minimum, a beam of four nearer, and an unbounded one there, on 5,000 DAGs") {
  Random random(1);
  std::array<int, 4> greedy{}, narrow{};
  int wrong = 0;
  for (int i = 0; i < 5000; ++i) {
    const SplitBuilder b = random_dag(random, 5 + below(random, 5), 3, 5 + below(random, 60));
    const Order order = order_for(b, 3);
    const Need need = needs_of(order);
    const size_t least = fewest_parts(b, 3), first = portfolio(order, need, {0, 1, 2})[0].size();
    const BeamResult four = beam(order, need, 4, first), all = beam(order, need, 100000, first + 1);
    ++greedy[std::min<size_t>(3, first - least)];
    ++narrow[std::min<size_t>(3, (four.sequence.empty() ? first : four.sequence.size()) - least)];
    wrong += all.sequence.size() != least || all.lower_bound != least || four.lower_bound > least || bound_of(order, need) > least;
    wrong += !completes(b, all.sequence);
  }
  MESSAGE("gap 0/1/2/3+ of the portfolio: " << greedy[0] << " " << greedy[1] << " " << greedy[2] << " " << greedy[3]);
  MESSAGE("gap 0/1/2/3+ of a beam of four: " << narrow[0] << " " << narrow[1] << " " << narrow[2] << " " << narrow[3]);
  CHECK(wrong == 0);
  CHECK(greedy[0] >= 4500);
  CHECK(greedy[2] + greedy[3] <= 50);
  CHECK(narrow[0] >= 4950);
  CHECK(narrow[2] + narrow[3] == 0);
}

TEST_CASE("a beam that finds nothing shorter proves that there is nothing, when it dropped nothing") {
  Random random(2);
  for (int i = 0; i < 300; ++i) {
    const SplitBuilder b = random_dag(random, 8, 3, 25);
    const Order order = order_for(b, 3);
    const uint32_t least = fewest_parts(b, 3);
    const BeamResult none = beam(order, needs_of(order), 100000, least);
    CHECK(none.sequence.empty());
    CHECK(none.lower_bound == least);
  }
}

TEST_CASE("the bound of pairs of devices sees what no single path shows") {
  // Two chains A B A B and B A B A share four or five parts; with C's two on top no path has more than four.
  SplitBuilder b;
  for (const std::array<uint64_t, 4>& chain : {std::array<uint64_t, 4>{1, 2, 1, 2}, {2, 1, 2, 1}, {1, 4, 1, 4}, {4, 2, 4, 2}}) {
    uint32_t last = b.add(chain[0]);
    for (int i = 1; i < 4; ++i) {
      const uint32_t u = b.add(chain[static_cast<size_t>(i)]);
      b.edge(last, u);
      last = u;
    }
  }
  const Order order = order_for(b, 3);
  const Need need = needs_of(order);
  CHECK(*std::max_element(need.best.begin(), need.best.end()) == 4);
  CHECK(bound_of(order, need) == 7);  // AB 5, AC 4, BC 4: half of 13
  CHECK(split(b.build(3)).lower_bound >= 7);
}

TEST_CASE("steps that others make up for are dropped") {
  SplitBuilder b;
  b.add(1), b.add(2), b.add(4);
  b.edge(0, 1), b.edge(1, 2);
  uint64_t work = 1000;
  CHECK(drop_steps(order_for(b, 3), {2, 0, 2, 1, 0, 1, 2, 0}, work) == std::vector<uint32_t>{0, 1, 2});
  CHECK(work < 1000);
  uint64_t none = 0;
  CHECK(drop_steps(order_for(b, 3), {0, 2, 1, 2}, none).size() == 4);
}

TEST_CASE("windows searched anew shorten a clumsy sequence and never break it") {
  Random random(3);
  size_t before = 0, after = 0;
  for (int i = 0; i < 40; ++i) {
    const Family& family = kFamilies[static_cast<size_t>(i) % kFamilies.size()];
    const SplitBuilder b = family.make(random, 60, 4);
    std::vector<uint32_t> sequence;
    while (!completes(b, sequence)) sequence.push_back(static_cast<uint32_t>(sequence.size()) % 4);
    uint64_t work = 3'000'000;
    const std::vector<uint32_t> found = search_windows(order_for(b, 4), sequence, work);
    CHECK(completes(b, found));
    CHECK(std::adjacent_find(found.begin(), found.end()) == found.end());
    CHECK(found.size() <= sequence.size());
    before += sequence.size(), after += found.size();
  }
  CHECK(after * 3 < before * 2);
}

TEST_CASE("many units with many devices: the search beats the portfolio") {
  Random random(4);
  size_t first = 0, last = 0;
  for (int i = 0; i < 3; ++i) {
    const SplitBuilder b = few_pins(random, 400, 4);
    const SplitProblem p = b.build(4);
    const Order order = order_of(p, p.allow);
    first += portfolio(order, needs_of(order), {0, 1, 2, 3})[0].size();
    const Sequences found = shortest_sequences(p, p.allow);
    for (const std::vector<uint32_t>& sequence : found.shortest) CHECK(completes(b, sequence));
    last += found.shortest[0].size();
    CHECK(found.lower_bound <= found.shortest[0].size());
  }
  MESSAGE("parts: portfolio " << first << ", after beam and windows " << last);
  CHECK(last < first);
}
