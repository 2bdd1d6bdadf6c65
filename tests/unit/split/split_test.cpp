// SPDX-License-Identifier: Apache-2.0
#include "core/split/split.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <string>

#include "core/split/bytes_sweep.hpp"
#include "core/split/fit.hpp"
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

TEST_CASE("fitting into a longer sequence than needed drops what is empty") {
  const SplitProblem p = chain({A, B}).build(2);
  const Split s = detail::fit(p, {0, 1, 0, 1});
  CHECK(s.devices == std::vector<uint32_t>{0, 1});
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
