// SPDX-License-Identifier: Apache-2.0
// Splitting within limits, on bare numbers; every answer is judged by checks of this file's own.
#include "core/split/limits.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <string>

#include "core/split/conflict.hpp"
#include "tests/support/split_families.hpp"

using namespace optima;
using namespace optima::test;

namespace {

constexpr uint64_t A = 1, B = 2, AB = 3;

SplitLimits no_limits(const SplitProblem& p) {
  SplitLimits l;
  l.part.resize(p.devices);
  l.group.resize(p.devices);
  std::iota(l.group.begin(), l.group.end(), 0);
  l.group_parts.assign(p.devices, 0);
  l.unit_nodes.assign(p.units(), 1);
  l.unit_bytes.assign(p.units(), 10);
  l.first_input.assign(p.units() + 1, 0);
  l.is_output.assign(p.bytes.size(), 0);
  l.lone_outputs.assign(p.units(), 0);
  return l;
}

struct Part {
  std::set<uint32_t> units, read, given;
};

std::vector<Part> parts_of(const SplitProblem& p, const Split& s) {
  std::vector<Part> out(s.devices.size());
  for (uint32_t u = 0; u < p.units(); ++u) {
    out[s.part[u]].units.insert(u);
    for (uint32_t t = p.first_tensor[u]; t < p.first_tensor[u + 1]; ++t)
      for (uint32_t r = p.first_reader[t]; r < p.first_reader[t + 1]; ++r)
        if (s.part[p.readers[r]] != s.part[u]) out[s.part[u]].given.insert(t), out[s.part[p.readers[r]]].read.insert(t);
  }
  return out;
}

bool connected(const SplitProblem& p, const std::set<uint32_t>& units) {
  std::set<uint32_t> reached = {*units.begin()};
  for (size_t before = 0; before != reached.size();) {
    before = reached.size();
    for (uint32_t u : units)
      for (uint32_t r = p.first_reader[p.first_tensor[u]]; r < p.first_reader[p.first_tensor[u + 1]]; ++r)
        if (units.count(p.readers[r]) && (reached.count(u) || reached.count(p.readers[r]))) reached.insert({u, p.readers[r]});
  }
  return reached.size() == units.size();
}

// Legal but for neighbours on one device.
std::string wrong(const SplitProblem& p, const Split& s) {
  const std::string found = wrong_with(s, p);
  return found == "neighbours on one device" ? "" : found;
}

SplitBuilder chain(const std::vector<uint64_t>& allow) {
  SplitBuilder b;
  for (uint64_t mask : allow) b.add(mask);
  for (uint32_t u = 1; u < allow.size(); ++u) b.edge(u - 1, u);
  return b;
}

}  // namespace

TEST_CASE("limits that do not fit their problem are told from those that do") {
  SplitBuilder b;
  b.edge(b.add(AB), b.add(A));
  const SplitProblem p = b.build(2);
  CHECK(no_limits(p).well_formed(p));
  const auto broken = [&](auto&& damage) {
    SplitLimits l = no_limits(p);
    damage(l);
    return !l.well_formed(p);
  };
  CHECK(broken([](SplitLimits& l) { l.part.pop_back(); }));
  CHECK(broken([](SplitLimits& l) { l.group[0] = 2; }));
  CHECK(broken([](SplitLimits& l) { l.unit_nodes.push_back(1); }));
  CHECK(broken([](SplitLimits& l) { l.unit_bytes.clear(); }));
  CHECK(broken([](SplitLimits& l) { l.not_first = {1}; }));
  CHECK(broken([](SplitLimits& l) { l.first_input = {0, 1, 0}; }));
  CHECK(broken([](SplitLimits& l) { l.inputs = {7}; }));
  CHECK(broken([](SplitLimits& l) { l.is_output.clear(); }));
  CHECK(broken([](SplitLimits& l) { l.lone_outputs.clear(); }));
}

TEST_CASE("without limits the split is the plain one") {
  Random random(1);
  for (const Family& family : kFamilies) {
    const SplitProblem p = family.make(random, 40, 3).build(3);
    const SplitLimits limits = no_limits(p);
    CHECK_FALSE(limits.any());
    const LimitedSplit s = split_within(p, limits);
    CHECK_FALSE(s.conflict);
    CHECK(s.split.part == split(p).part);
    CHECK(s.losses.empty());
  }
}

TEST_CASE("no part has more nodes, bytes or tensors than its device takes, and parts are in one piece where that is wanted") {
  Random random(2);
  size_t closed = 0;
  for (int i = 0; i < 140; ++i) {
    const Family& family = kFamilies[static_cast<size_t>(i) % kFamilies.size()];
    CAPTURE(family.name);
    const SplitProblem p = family.make(random, 60, 3).build(3);
    SplitLimits limits = no_limits(p);
    for (uint64_t& bytes : limits.unit_bytes) bytes = 1 + below(random, 20);
    limits.part[0] = {7, 0, 0, i % 2 == 0};
    limits.part[1] = {0, 90, 0, false};
    limits.part[2] = {0, 0, 40, i % 3 == 0};
    const LimitedSplit s = split_within(p, limits);
    if (s.conflict) {
      CHECK(s.conflict->kind == LimitConflict::Kind::UnitTooBig);  // a pinned unit with more than 40 tensors
      continue;
    }
    CHECK(wrong(p, s.split) == "");
    const std::vector<Part> parts = parts_of(p, s.split);
    for (size_t part = 0; part < parts.size(); ++part) {
      const PartLimits& most = limits.part[s.split.devices[part]];
      uint64_t bytes = 0;
      for (uint32_t u : parts[part].units) bytes += limits.unit_bytes[u];
      if (most.nodes) CHECK(parts[part].units.size() <= most.nodes);
      if (most.bytes) CHECK(bytes <= most.bytes);
      if (most.tensors) CHECK(parts[part].read.size() + parts[part].given.size() <= most.tensors);
      if (most.connected) CHECK(connected(p, parts[part].units));
      closed += part > 0 && s.split.devices[part] == s.split.devices[part - 1];
    }
  }
  CHECK(closed > 100);
}

TEST_CASE("a full part is closed and the next one is on the same device") {
  const SplitProblem p = chain({A, A, A, A, A, B, A}).build(2);
  SplitLimits limits = no_limits(p);
  limits.part[0].nodes = 2;
  const LimitedSplit s = split_within(p, limits);
  CHECK(s.split.devices == std::vector<uint32_t>{0, 0, 0, 1, 0});
  CHECK(s.split.part == std::vector<uint32_t>{0, 0, 1, 1, 2, 3, 4});
  CHECK(s.split.lower_bound == 3);
  CHECK(s.split.bytes == 4);
}

TEST_CASE("model inputs and outputs count as tensors of a part") {
  const SplitProblem p = chain({A, A, A}).build(2);
  SplitLimits limits = no_limits(p);
  limits.part[0].tensors = 2;
  limits.first_input = {0, 1, 2, 3};
  limits.inputs = {7, 7, 8};
  limits.lone_outputs = {1, 0, 1};
  const LimitedSplit s = split_within(p, limits);
  REQUIRE(s.conflict);  // the first unit reads 7 and gives a tensor and an output
  CHECK(s.conflict->kind == LimitConflict::Kind::UnitTooBig);
  CHECK(s.conflict->units == std::vector<uint32_t>{0});
  limits.part[0].tensors = 3;
  const LimitedSplit t = split_within(p, limits);
  CHECK_FALSE(t.conflict);
  CHECK(t.split.part == std::vector<uint32_t>{0, 0, 1});  // 7, the output, the tensor to the last unit; that, 8, the other output
}

TEST_CASE("a unit too big for a device leaves it") {
  const SplitProblem p = chain({AB, AB, AB}).build(2);
  SplitLimits limits = no_limits(p);
  limits.part[0].bytes = 15;
  limits.unit_bytes[1] = 16;
  const LimitedSplit s = split_within(p, limits);
  CHECK(s.split.devices == std::vector<uint32_t>{1});
  REQUIRE(s.losses.size() == 1);
  CHECK(s.losses[0].unit == 1);
  CHECK(s.losses[0].kind == LimitKind::Bytes);
}

TEST_CASE("of too many parts the small ones leave for another device") {
  // A runs what it alone can; a stretch of six AB units, then one, then four, with B between.
  SplitBuilder b = chain({A, AB, AB, AB, AB, A, B, AB, B, AB, AB, AB, A});
  const SplitProblem p = b.build(2);
  CHECK(split(p).devices.size() == 3);
  SplitLimits limits = no_limits(p);
  limits.group_parts = {2, 0};
  CHECK_FALSE(split_within(p, limits).conflict);
  limits.group_parts = {1, 0};
  const LimitedSplit s = split_within(p, limits);
  REQUIRE(s.conflict);
  CHECK(s.conflict->kind == LimitConflict::Kind::GroupParts);
  CHECK(s.conflict->least == 2);
  CHECK(s.conflict->units.size() == 3);  // an A, a B behind it, an A behind that
}

TEST_CASE("at most so many parts on a device, with the most nodes kept, when nothing is pinned there") {
  Random random(3);
  for (int i = 0; i < 60; ++i) {
    SplitBuilder b = windowed(random, 200, 2, 16);
    for (uint64_t& mask : b.allow) mask = below(random, 10) ? AB : B;  // A is the accelerator, B takes everything
    SplitProblem p = b.build(2);
    p.avoid.assign(p.units(), B);
    // Keep A worth having: its units move to A only where the parts stay few, so force it by taking B away at random.
    for (uint32_t u = 0; u < p.units(); u += 1 + below(random, 40)) p.allow[u] = A, p.avoid[u] = 0;
    SplitLimits limits = no_limits(p);
    const uint32_t least = detail::fewest_on(p, A, nullptr);
    limits.group_parts = {least + below(random, 2), 0};
    const LimitedSplit s = split_within(p, limits);
    REQUIRE_FALSE(s.conflict);
    CHECK(wrong(p, s.split) == "");
    CHECK(std::count(s.split.devices.begin(), s.split.devices.end(), 0u) <= limits.group_parts[0]);
  }
}

TEST_CASE("too many parts of all: the conflict is a smallest set that needs them, and no unit of it can be spared") {
  Random random(4);
  for (int i = 0; i < 60; ++i) {
    const Family& family = kFamilies[static_cast<size_t>(i) % kFamilies.size()];
    const SplitBuilder b = family.make(random, 40, 2);
    const SplitProblem p = b.build(2);
    const auto parts = static_cast<uint32_t>(split(p).devices.size());
    if (parts < 3) continue;
    SplitLimits limits = no_limits(p);
    limits.parts = parts - 1;
    const LimitedSplit s = split_within(p, limits);
    REQUIRE(s.conflict);
    CHECK(s.conflict->kind == LimitConflict::Kind::Parts);
    CHECK(s.conflict->least == parts);
    SplitProblem only = p;
    for (uint32_t u = 0; u < p.units(); ++u)
      if (!std::count(s.conflict->units.begin(), s.conflict->units.end(), u)) only.allow[u] = AB;
    CHECK(split(only).devices.size() > limits.parts);
    for (uint32_t spared : s.conflict->units) {
      SplitProblem without = only;
      without.allow[spared] = AB;
      CHECK(split(without).devices.size() <= limits.parts);
    }
    limits.parts = parts;
    CHECK_FALSE(split_within(p, limits).conflict);
  }
}

TEST_CASE("a total limit makes closed parts leave") {
  SplitBuilder b = chain({AB, AB, AB, AB, AB, AB});
  const SplitProblem p = b.build(2);
  SplitLimits limits = no_limits(p);
  limits.part[0].nodes = 2;
  CHECK(split_within(p, limits).split.devices.size() == 3);
  limits.parts = 2;
  const LimitedSplit s = split_within(p, limits);
  CHECK_FALSE(s.conflict);
  CHECK(s.split.devices.size() <= 2);
  CHECK(wrong(p, s.split) == "");
}

TEST_CASE("no part begins or ends with a unit that may not, or the unit is on another device") {
  Random random(5);
  size_t moved = 0;
  for (int i = 0; i < 140; ++i) {
    const Family& family = kFamilies[static_cast<size_t>(i) % kFamilies.size()];
    CAPTURE(family.name);
    SplitBuilder b = family.make(random, 40, 2);
    for (uint64_t& mask : b.allow) mask = 1 + below(random, 3);
    const SplitProblem p = b.build(2);
    SplitLimits limits = no_limits(p);
    limits.not_first.assign(p.units(), 0);
    limits.not_last.assign(p.units(), 0);
    for (uint32_t u = 0; u < p.units(); ++u)
      if (b.allow[u] == AB) (below(random, 2) ? limits.not_first : limits.not_last)[u] = A;
    SplitLimits with_room = limits;
    with_room.part[0].nodes = 1 + below(random, 10);
    for (const SplitLimits& l : {limits, with_room}) {
      const LimitedSplit s = split_within(p, l);
      REQUIRE_FALSE(s.conflict);
      CHECK(wrong(p, s.split) == "");
      moved += s.losses.size();
      for (uint32_t u = 0; u < p.units(); ++u)
        for (uint32_t w : b.readers[u]) {
          if (s.split.part[u] == s.split.part[w]) continue;
          if (s.split.devices[s.split.part[u]] == 0) CHECK_FALSE(l.not_last[u]);
          if (s.split.devices[s.split.part[w]] == 0) CHECK_FALSE(l.not_first[w]);
        }
    }
  }
  CHECK(moved > 100);
}

TEST_CASE("what a unit that cannot leave must not be parted from follows it, or there is no plan") {
  const SplitProblem p = chain({A, AB, B}).build(2);
  SplitLimits limits = no_limits(p);
  limits.not_last = {A, 0, 0};
  const LimitedSplit s = split_within(p, limits);
  CHECK_FALSE(s.conflict);
  CHECK(s.split.part[0] == s.split.part[1]);
  limits.not_last = {A, A, 0};
  const LimitedSplit none = split_within(p, limits);
  REQUIRE(none.conflict);
  CHECK(none.conflict->kind == LimitConflict::Kind::FirstOrLast);
  limits.not_last = {0, 0, 0};
  limits.not_first = {A, 0, 0};
  limits.first_input = {0, 1, 1, 1};
  limits.inputs = {0};
  CHECK(split_within(p, limits).conflict);  // it reads a model input
}
