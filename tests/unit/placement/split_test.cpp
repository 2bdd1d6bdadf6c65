// SPDX-License-Identifier: Apache-2.0
#include "core/placement/split.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <string>

#include "core/placement/bytes_sweep.hpp"
#include "core/placement/fit.hpp"
#include "core/placement/sequence.hpp"
#include "tests/support/random_split.hpp"

using namespace optima;
using namespace optima::test;

namespace {
constexpr uint64_t A = 1, B = 2, C = 4, AB = 3, ABC = 7;

Split checked(const SplitBuilder& b, uint32_t devices) {
  const SplitProblem p = b.build(devices);
  REQUIRE(p.well_formed());
  Split s = split(p);
  CHECK(std::string(wrong_with(s, p)) == "");
  CHECK(s.lower_bound <= s.devices.size());
  CHECK(s.bytes == detail::crossing_bytes(p, s.part));
  return s;
}

SplitBuilder chain(const std::vector<uint64_t>& allow) {
  SplitBuilder b;
  for (uint64_t mask : allow) b.add(mask);
  for (uint32_t u = 1; u < allow.size(); ++u) b.edge(u - 1, u);
  return b;
}
}  // namespace

TEST_CASE("two devices: the number of parts is the brute-force minimum on 30,000 random DAGs") {
  Random random(1);
  int wrong = 0;
  for (int i = 0; i < 30000; ++i) {
    const SplitBuilder b = random_dag(random, 1 + below(random, 9), 2, 5 + below(random, 60));
    const SplitProblem p = b.build(2);
    const Split s = split(p);
    wrong += s.devices.size() != fewest_parts(b, 2) || !s.exact() || *wrong_with(s, p) != 0;
  }
  CHECK(wrong == 0);
}

TEST_CASE("three devices: at most a small share misses the minimum and the bound never exceeds it, on 10,000 random DAGs") {
  Random random(2);
  std::array<int, 4> gap{};
  int bound_too_high = 0, illegal = 0, tight = 0, false_proof = 0;
  for (int i = 0; i < 10000; ++i) {
    const SplitBuilder b = random_dag(random, 1 + below(random, 8), 3, 5 + below(random, 60));
    const SplitProblem p = b.build(3);
    const Split s = split(p);
    const uint32_t least = fewest_parts(b, 3);
    REQUIRE(s.devices.size() >= least);
    ++gap[std::min<size_t>(3, s.devices.size() - least)];
    bound_too_high += s.lower_bound > least;
    tight += s.lower_bound == least;
    false_proof += s.exact() && s.devices.size() != least;
    illegal += *wrong_with(s, p) != 0;
  }
  MESSAGE("k=3 gap 0/1/2/3+: " << gap[0] << " " << gap[1] << " " << gap[2] << " " << gap[3] << ", bound tight " << tight);
  CHECK(illegal == 0);
  CHECK(bound_too_high == 0);
  CHECK(false_proof == 0);
  CHECK(gap[0] >= 9500);
  CHECK(gap[2] + gap[3] <= 30);
}

TEST_CASE("many devices with many units stay legal, and the bound stays below the result") {
  Random random(3);
  for (uint32_t devices : {3u, 5u, 8u})
    for (uint32_t units : {50u, 300u}) checked(random_dag(random, units, devices, 2), devices);
}

TEST_CASE("nothing to split gives no parts") {
  const Split s = checked(SplitBuilder(), 2);
  CHECK(s.devices.empty());
  CHECK(s.lower_bound == 0);
  CHECK(s.exact());
}

TEST_CASE("one unit gives one part on its first device") {
  CHECK(checked(chain({AB}), 2).devices == std::vector<uint32_t>{0});
  CHECK(checked(chain({B}), 2).devices == std::vector<uint32_t>{1});
}

TEST_CASE("units pinned in turn on a chain need a part each") {
  std::vector<uint64_t> allow;
  for (int i = 0; i < 100; ++i) allow.push_back(i % 2 ? A : B);
  CHECK(checked(chain(allow), 2).devices.size() == 100);
}

TEST_CASE("separate pieces of the graph share parts") {
  SplitBuilder b;
  for (int i = 0; i < 10; ++i) {
    const uint32_t first = b.add(i % 2 ? A : B), second = b.add(i % 2 ? B : A);
    b.edge(first, second);
  }
  CHECK(checked(b, 2).devices.size() == 3);
}

TEST_CASE("fewer parts win over the preferred device, and ties go to it") {
  CHECK(checked(chain({AB, B, AB}), 2).devices == std::vector<uint32_t>{1});
  const Split s = checked(chain({A, AB, B}), 2);
  CHECK(s.part == std::vector<uint32_t>{0, 0, 1});
  const Split t = checked(chain({B, AB, A}), 2);
  CHECK(t.part == std::vector<uint32_t>{0, 1, 1});
  CHECK(t.displaced == 0);
}

TEST_CASE("a free unit may wait for a later part of its preferred device") {
  SplitBuilder b = chain({A, B, A});
  const uint32_t free = b.add(AB);
  b.edge(0, free);
  const Split s = checked(b, 2);
  CHECK(s.devices == std::vector<uint32_t>{0, 1, 0});
  CHECK(s.devices[s.part[free]] == 0);
}

TEST_CASE("a device that would rather not is the last choice") {
  SplitProblem p = chain({AB, AB}).build(2);
  p.avoid = {A, A};
  const Split s = split(p);
  CHECK(s.devices == std::vector<uint32_t>{1});
  CHECK(s.displaced == 0);
}

TEST_CASE("bytes decide between parts of one device") {
  SplitBuilder b = chain({A, B, A});  // parts A B A
  b.bytes = {1, 1, 1};
  const uint32_t big = b.add(A, 100);  // reads nothing: may sit in the first or the last part
  const uint32_t reader = b.add(A, 1);
  b.edge(big, reader);
  b.edge(2, reader);  // the reader sits in the last part
  const Split s = checked(b, 2);
  CHECK(s.part[big] == s.part[reader]);
  CHECK(s.bytes == 2);
}

TEST_CASE("diamond ladders never fold into a cycle") {
  SplitBuilder b;  // a -> (b on A, c on B) -> d, again and again; joining all on A would enclose the ones on B
  uint32_t last = b.add(A);
  for (int i = 0; i < 50; ++i) {
    const uint32_t left = b.add(A), right = b.add(B), join = b.add(A);
    b.edge(last, left), b.edge(last, right), b.edge(left, join), b.edge(right, join);
    last = join;
  }
  CHECK(checked(b, 2).devices.size() == 101);
}

TEST_CASE("the five-node case on which per-argument grouping closes a cycle stays a sequence") {
  SplitBuilder b;  // g1(A); h(C) <- g1; d(B); g2(A) <- g1, d; n(B) <- d, h
  const uint32_t g1 = b.add(A), h = b.add(C), d = b.add(B), g2 = b.add(A), n = b.add(B);
  b.edge(g1, h), b.edge(g1, g2), b.edge(d, g2), b.edge(d, n), b.edge(h, n);
  const Split s = checked(b, 3);
  CHECK(s.devices.size() == fewest_parts(b, 3));
  CHECK(s.devices.size() == 4);
}

TEST_CASE("multi-hop paths between parts of one device are respected") {
  // As in openvino issue 36126: two A pieces joined by a long way round over B must not become one part.
  SplitBuilder b = chain({A, B, B, B, A});
  b.edge(0, 4);
  const uint32_t aside = b.add(A);
  b.edge(0, aside), b.edge(4, aside);
  CHECK(checked(b, 2).devices.size() == 3);
}

TEST_CASE("a tensor read on both sides counts once per reading part") {
  SplitBuilder b;
  const uint32_t x = b.add(A, 10);
  for (int i = 0; i < 3; ++i) b.edge(x, b.add(B));
  CHECK(checked(b, 2).bytes == 10);
}

TEST_CASE("an added device that nobody may use changes nothing") {
  Random random(4);
  for (int i = 0; i < 300; ++i) {
    const SplitBuilder b = random_dag(random, 20, 2, 15);
    const Split two = checked(b, 2), three = checked(b, 3);
    CHECK(two.part == three.part);
    CHECK(two.devices == three.devices);
    CHECK(three.exact());
  }
}

TEST_CASE("a twin of a device never adds parts") {
  Random random(5);
  for (int i = 0; i < 300; ++i) {
    SplitBuilder b = random_dag(random, 20, 2, 15);
    const size_t before = checked(b, 2).devices.size();
    for (uint64_t& mask : b.allow) mask |= (mask & B) << 1;
    CHECK(checked(b, 3).devices.size() == before);
  }
}

TEST_CASE("removing a pin never raises the minimum") {
  Random random(6);
  for (int i = 0; i < 500; ++i) {
    SplitBuilder b = random_dag(random, 25, 2, 10);
    const size_t before = checked(b, 2).devices.size();
    b.allow[below(random, 25)] = AB;
    CHECK(checked(b, 2).devices.size() <= before);
  }
}

TEST_CASE("another topological numbering keeps the number of parts") {
  Random random(7);
  for (int i = 0; i < 300; ++i) {
    const SplitBuilder b = random_dag(random, 30, 2, 8);
    std::vector<uint32_t> waiting(30, 0), order, number(30);
    for (const auto& list : b.readers)
      for (uint32_t w : list) ++waiting[w];
    std::vector<uint32_t> ready;
    for (uint32_t u = 0; u < 30; ++u)
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
    SplitBuilder renamed;
    for (uint32_t u : order) renamed.add(b.allow[u], b.bytes[u]);
    for (uint32_t u = 0; u < 30; ++u)
      for (uint32_t w : b.readers[u]) renamed.edge(number[u], number[w]);
    CHECK(checked(renamed, 2).devices.size() == checked(b, 2).devices.size());
  }
}

TEST_CASE("fitting into a longer sequence than needed drops what is empty") {
  const SplitProblem p = chain({A, B}).build(2);
  const Split s = detail::fit(p, {0, 1, 0, 1});
  CHECK(s.devices == std::vector<uint32_t>{0, 1});
}

TEST_CASE("the bytes sweep never raises what crosses, and often lowers it") {
  Random random(8);
  int lowered = 0;
  for (int i = 0; i < 500; ++i) {
    const SplitBuilder b = random_dag(random, 40, 2, 8);
    const SplitProblem p = b.build(2);
    std::vector<uint32_t> part(p.units(), 0), sequence;  // the plain alternation, each unit as early as it can run
    for (uint32_t u = 0; u < p.units(); ++u) {
      while (!(p.allow[u] >> (part[u] % 2) & 1)) ++part[u];
      while (sequence.size() <= part[u]) sequence.push_back(sequence.size() % 2);
      for (uint32_t w : b.readers[u]) part[w] = std::max(part[w], part[u]);
    }
    const uint64_t before = detail::crossing_bytes(p, part);
    detail::sweep_bytes(p, sequence, part);
    const uint64_t after = detail::crossing_bytes(p, part);
    CHECK(after <= before);
    lowered += after < before;
    CHECK(std::string(wrong_with({sequence, part, 0, 0, 0}, p)) == "");
  }
  CHECK(lowered > 250);
}

TEST_CASE("malformed problems are told apart from well-formed ones") {
  SplitProblem p = chain({A, AB}).build(2);
  CHECK(p.well_formed());
  SplitProblem backwards = p;
  backwards.readers[0] = 0;
  CHECK_FALSE(backwards.well_formed());
  SplitProblem nowhere = p;
  nowhere.allow[1] = 0;
  CHECK_FALSE(nowhere.well_formed());
  SplitProblem unknown = p;
  unknown.allow[1] = C;
  CHECK_FALSE(unknown.well_formed());
  SplitProblem torn = p;
  torn.first_reader.back() = 9;
  CHECK_FALSE(torn.well_formed());
}

TEST_CASE("the same problem gives the same split, and free units do not disturb the bound") {
  Random random(9);
  const SplitBuilder b = random_dag(random, 200, 4, 3);
  const Split one = checked(b, 4), two = checked(b, 4);
  CHECK(one.part == two.part);
  CHECK(lower_bound(chain({A, ABC, B, ABC, C}).build(3)) == 3);
}
