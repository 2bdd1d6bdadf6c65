// SPDX-License-Identifier: Apache-2.0
// The splitter over all families of problems: against brute force, and against itself on changed problems.
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <string>

#include "core/split/bytes_sweep.hpp"
#include "core/split/fit.hpp"
#include "tests/support/split_families.hpp"

using namespace optima;
using namespace optima::test;

namespace {

constexpr uint32_t kSmall = 9;  // units that brute force can take

Split checked(const SplitBuilder& b, uint32_t devices) {
  const SplitProblem p = b.build(devices);
  REQUIRE(p.well_formed());
  Split s = split(p);
  CHECK(std::string(wrong_with(s, p)) == "");
  CHECK(s.lower_bound <= s.devices.size());
  CHECK(s.bytes == detail::crossing_bytes(p, s.part));
  return s;
}
size_t parts(const SplitBuilder& b, uint32_t devices) { return checked(b, devices).devices.size(); }

// Some other topological numbering.
SplitBuilder renumbered(Random& random, const SplitBuilder& b) {
  const auto n = static_cast<uint32_t>(b.allow.size());
  std::vector<uint32_t> waiting(n, 0), order, number(n), ready;
  for (const auto& list : b.readers)
    for (uint32_t w : list) ++waiting[w];
  for (uint32_t u = 0; u < n; ++u)
    if (!waiting[u]) ready.push_back(u);
  while (!ready.empty()) {
    std::swap(ready[below(random, static_cast<uint32_t>(ready.size()))], ready.back());
    const uint32_t u = ready.back();
    ready.pop_back();
    number[u] = static_cast<uint32_t>(order.size());
    order.push_back(u);
    for (uint32_t w : b.readers[u])
      if (--waiting[w] == 0) ready.push_back(w);
  }
  SplitBuilder out;
  for (uint32_t u : order) out.add(b.allow[u], b.bytes[u]);
  for (uint32_t u = 0; u < n; ++u)
    for (uint32_t w : b.readers[u]) out.edge(number[u], number[w]);
  return out;
}

}  // namespace

TEST_CASE("two devices: the number of parts is the brute-force minimum on 100,000 DAGs") {
  Random random(1);
  int wrong = 0;
  for (int i = 0; i < 100000; ++i) {
    const Family& family = kFamilies[static_cast<size_t>(i) % kFamilies.size()];
    const SplitBuilder b = i % 2 ? family.make(random, 1 + below(random, 8), 2) : random_dag(random, 1 + below(random, 9), 2, 5 + below(random, 60));
    if (b.allow.size() > 12) continue;
    const SplitProblem p = b.build(2);
    const Split s = split(p);
    wrong += s.devices.size() != fewest_parts(b, 2) || !s.exact() || *wrong_with(s, p) != 0;
  }
  CHECK(wrong == 0);
}

TEST_CASE("three and four devices: small problems come out at the brute-force minimum, proven") {
  Random random(2);
  int wrong = 0;
  for (int i = 0; i < 20000; ++i) {
    const uint32_t devices = 3 + (i & 1);
    const Family& family = kFamilies[static_cast<size_t>(i / 2) % kFamilies.size()];
    const SplitBuilder b =
        i % 3 ? random_dag(random, 1 + below(random, kSmall), devices, 5 + below(random, 60)) : family.make(random, kSmall, devices);
    if (b.allow.size() > 11) continue;
    const SplitProblem p = b.build(devices);
    const Split s = split(p);
    wrong += s.devices.size() != fewest_parts(b, devices) || !s.exact() || lower_bound(p) > s.devices.size() || *wrong_with(s, p) != 0;
  }
  CHECK(wrong == 0);
}

TEST_CASE("every family stays legal and never goes below its bound, for two to six devices") {
  Random random(3);
  for (const Family& family : kFamilies)
    for (uint32_t devices : {2u, 3u, 6u})
      for (uint32_t units : {1u, 2u, 40u}) {
        CAPTURE(family.name);
        checked(family.make(random, units, devices), devices);
      }
}

TEST_CASE("traps come out at their known number of parts") {
  Random random(4);
  CHECK(parts(diamond_ladder(random, 151, 2), 2) == 101);
  CHECK(parts(five_nodes(random, 5, 3), 3) == 4);
  CHECK(parts(multi_hop(random, 51, 2), 2) == 21);
  CHECK(parts(alternating_pins(random, 100, 2), 2) == 100);
  CHECK(parts(alternating_pins(random, 100, 5), 5) == 100);
}

TEST_CASE("another topological numbering keeps the number of parts") {
  Random random(5);
  for (int i = 0; i < 200; ++i) {
    const Family& family = kFamilies[static_cast<size_t>(i) % kFamilies.size()];
    const uint32_t devices = i % 2 ? 2 : 3;
    const SplitBuilder b = family.make(random, devices == 2 ? 40 : kSmall, devices);
    CHECK(parts(renumbered(random, b), devices) == parts(b, devices));
  }
}

TEST_CASE("devices that change their numbers keep the number of parts") {
  Random random(6);
  for (int i = 0; i < 200; ++i) {
    SplitBuilder b = random_dag(random, kSmall, 3, 20);
    const size_t before = parts(b, 3);
    for (uint64_t& mask : b.allow) mask = (mask << 1 | mask >> 2) & 7;
    CHECK(parts(b, 3) == before);
  }
}

TEST_CASE("more support never raises the number of parts where it is exact, and neither does a removed pin") {
  Random random(7);
  for (int i = 0; i < 400; ++i) {
    const uint32_t devices = 2 + (i & 1), units = devices == 2 ? 25 : kSmall;
    SplitBuilder b = random_dag(random, units, devices, 10);
    const size_t before = parts(b, devices);
    uint64_t& mask = b.allow[below(random, units)];
    mask = i % 4 < 2 ? (uint64_t{1} << devices) - 1 : mask | uint64_t{1} << below(random, devices);
    CHECK(parts(b, devices) <= before);
  }
}

TEST_CASE("an added device that nobody may use changes nothing") {
  Random random(8);
  for (const Family& family : kFamilies) {
    const SplitBuilder b = family.make(random, 40, 2);
    const Split two = checked(b, 2), three = checked(b, 3);
    CHECK(two.part == three.part);
    CHECK(two.devices == three.devices);
    CHECK(three.exact());
  }
}

TEST_CASE("splitting each part again returns the part") {
  Random random(9);
  for (const Family& family : kFamilies) {
    const SplitBuilder b = family.make(random, 60, 3);
    const Split s = checked(b, 3);
    for (uint32_t part = 0; part < s.devices.size(); ++part) {
      SplitBuilder one;
      std::vector<uint32_t> number(b.allow.size(), 0);
      for (uint32_t u = 0; u < b.allow.size(); ++u)
        if (s.part[u] == part) number[u] = one.add(uint64_t{1} << s.devices[part]);
      for (uint32_t u = 0; u < b.allow.size(); ++u)
        for (uint32_t w : b.readers[u])
          if (s.part[u] == part && s.part[w] == part) one.edge(number[u], number[w]);
      CHECK(parts(one, 3) == 1);
    }
  }
}

TEST_CASE("the same problem gives the same split, byte for byte") {
  Random random(10);
  for (const Family& family : kFamilies)
    for (uint32_t devices : {2u, 4u}) {
      const SplitBuilder b = family.make(random, 120, devices);
      const Split one = checked(b, devices), two = checked(b, devices);
      CHECK(one.part == two.part);
      CHECK(one.devices == two.devices);
    }
}
