// SPDX-License-Identifier: Apache-2.0
#include "core/split/cost_split.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "tests/support/random_costs.hpp"

using namespace optima;
using namespace optima::test;

namespace {

constexpr double kRounding = 1e-7;

struct Gaps {
  int optimal = 0, plans = 0;
  double sum = 0, worst = 0, bound_sum = 0;
  void add(double found, double least, double bound) {
    const double gap = found / least - 1;
    ++plans;
    optimal += gap < 1e-9;
    sum += gap;
    worst = std::max(worst, gap);
    bound_sum += 1 - bound / least;
  }
  double share() const { return 100.0 * optimal / plans; }
  double mean() const { return 100 * sum / plans; }
  double mean_bound() const { return 100 * bound_sum / plans; }
};

// Empty when the parts are legal, run in order, and their time is what the result says.
std::string wrong_in(const CostSplit& s, const SplitProblem& p, const SplitBuilder& b, const CostTable& c) {
  Split split;
  split.devices = s.devices, split.part = s.part;
  if (const char* wrong = wrong_with(split, p); *wrong) return wrong;
  double launch = 0;
  for (uint32_t d : s.devices) launch += c.launch[d];
  if (std::abs(launch - s.time.launch) > kRounding) return "launches do not add up";
  std::vector<uint32_t> device;
  for (uint32_t part : s.part) device.push_back(s.devices[part]);
  if (Enumeration(b, c, p.devices).time(device) > s.time.total() + kRounding) return "the time is not that of its parts";
  return "";
}

Gaps gaps(uint32_t devices, int count, uint32_t most_units, uint32_t launch, bool metric, uint64_t seed) {
  Random random(seed);
  Gaps out;
  for (int i = 0; i < count; ++i) {
    const SplitBuilder b = random_dag(random, 2 + below(random, most_units - 1), devices, 10 + below(random, 50));
    const SplitProblem p = b.build(devices);
    const CostTable c = random_costs(random, p.units(), devices, launch, metric);
    const CostSplit s = split_by_cost(p, c);
    const double least = Enumeration(b, c, devices).least();
    REQUIRE(wrong_in(s, p, b, c) == "");
    REQUIRE(s.time.total() >= least - kRounding);
    REQUIRE(s.bound <= least + kRounding);
    for (double whole : s.one_device) REQUIRE(s.time.total() <= whole + kRounding);
    out.add(s.time.total(), least, s.bound);
  }
  const std::string links = metric ? ", metric" : ", any links";
  MESSAGE(devices << " devices, launch up to " << launch << links << ": optimal " << out.share() << " %, mean gap " << out.mean()
                  << " %, worst " << 100 * out.worst << " %; bound " << out.mean_bound() << " % below");
  return out;
}

// Units in a row; compute[u] = {on device 0, on device 1, ...}.
struct Row {
  SplitBuilder b;
  CostTable c;
  uint32_t devices;
  Row(std::vector<std::vector<double>> compute, std::vector<double> launch, double latency, std::vector<uint64_t> allow = {})
      : devices(static_cast<uint32_t>(launch.size())) {
    for (uint32_t u = 0; u < compute.size(); ++u) {
      b.add(allow.empty() ? (1u << devices) - 1 : allow[u]);
      c.compute.insert(c.compute.end(), compute[u].begin(), compute[u].end());
      if (u) b.edge(u - 1, u);
    }
    c.launch = std::move(launch);
    c.latency.assign(size_t{devices} * devices, latency);
    c.per_byte.assign(size_t{devices} * devices, 0);
  }
  std::vector<uint32_t> devices_of_units() const {
    const CostSplit s = split_by_cost(b.build(devices), c);
    std::vector<uint32_t> out;
    for (uint32_t part : s.part) out.push_back(s.devices[part]);
    return out;
  }
};

}  // namespace

TEST_CASE("two devices without launches: the cut is the least time on 2,000 random DAGs of up to 11 units, and so is the bound") {
  const Gaps g = gaps(2, 2000, 11, 0, false, 1);
  CHECK(g.optimal == g.plans);
  CHECK(g.mean_bound() < 1e-6);
}

TEST_CASE("two devices with launches: nearly always the least time on 5,000 random DAGs of up to 11 units") {
  const Gaps g = gaps(2, 5000, 11, 15, false, 2);
  CHECK(g.share() >= 99.5);
  CHECK(g.mean() <= 0.02);
  CHECK(g.worst <= 0.1);
}

TEST_CASE("three devices, links that are a metric: nearly always the least time on 2,000 random DAGs of up to 8 units") {
  const Gaps g = gaps(3, 2000, 8, 10, true, 3);
  CHECK(g.share() >= 99);
  CHECK(g.mean() <= 0.05);
  CHECK(g.worst <= 0.15);
}

TEST_CASE("three devices, any links: nearly always the least time on 2,000 random DAGs of up to 8 units") {
  const Gaps g = gaps(3, 2000, 8, 10, false, 4);
  CHECK(g.share() >= 99);
  CHECK(g.mean() <= 0.05);
  CHECK(g.worst <= 0.15);
}

TEST_CASE("a slow device is left alone unless units are pinned to it, and then gets only those") {
  const std::vector<std::vector<double>> compute(5, {1, 1000});
  CHECK(Row(compute, {2, 2}, 3).devices_of_units() == std::vector<uint32_t>{0, 0, 0, 0, 0});
  CHECK(Row(compute, {2, 2}, 3, {3, 3, 2, 3, 3}).devices_of_units() == std::vector<uint32_t>{0, 0, 1, 0, 0});
}

TEST_CASE("links and launches decide whether a faster device is worth the way") {
  const std::vector<std::vector<double>> compute = {{1, 9}, {10, 4}, {1, 9}};
  CHECK(Row(compute, {0, 0}, 2).devices_of_units() == std::vector<uint32_t>{0, 1, 0});  // 2 + 4 + 2 * 2 < 12
  CHECK(Row(compute, {0, 0}, 4).devices_of_units() == std::vector<uint32_t>{0, 0, 0});
  CHECK(Row(compute, {2, 2}, 2).devices_of_units() == std::vector<uint32_t>{0, 0, 0});  // two more launches
}

TEST_CASE("a tensor with several readers on one device is sent once") {
  SplitBuilder b;
  const uint32_t source = b.add(1);
  for (int i = 0; i < 3; ++i) b.edge(source, b.add(3));
  // Each reader gains 4 on device 1; the way there costs 10, which three gains pay and one does not.
  const CostTable c{{0, 0, 5, 1, 5, 1, 5, 1}, {0, 0}, {0, 10, 10, 0}, {0, 0, 0, 0}};
  const CostSplit s = split_by_cost(b.build(2), c);
  CHECK(s.time.total() == doctest::Approx(13));
  CHECK(s.time.transfer == doctest::Approx(10));
  CHECK(s.bound == doctest::Approx(13));
}

TEST_CASE("one device, no unit, and zero costs are plans like any other") {
  const CostSplit none = split_by_cost(SplitBuilder().build(2), {{}, {1, 1}, {0, 0, 0, 0}, {0, 0, 0, 0}});
  CHECK(none.devices.empty());
  CHECK(none.time.total() == 0);
  const Row one({{1}, {2}}, {5}, 0);
  const CostSplit s = split_by_cost(one.b.build(1), one.c);
  CHECK(s.time.total() == doctest::Approx(8));
  CHECK(s.bound == doctest::Approx(8));
  const Row zero({{0, 0}, {0, 0}}, {0, 0}, 0);
  CHECK(split_by_cost(zero.b.build(2), zero.c).time.total() == 0);
}

TEST_CASE("costs that are not finite or are negative are no table, unless nothing reads them") {
  Row row({{1, 2}, {1, 2}}, {1, 1}, 1, {3, 1});
  const SplitProblem p = row.b.build(2);
  CHECK(row.c.well_formed(p));
  row.c.compute[3] = -1;  // unit 1 does not allow device 1
  row.c.latency[0] = NAN;
  CHECK(row.c.well_formed(p));
  for (double bad : {-1.0, double{NAN}, double{INFINITY}})
    for (auto member : {&CostTable::compute, &CostTable::launch, &CostTable::latency, &CostTable::per_byte}) {
      CostTable c = row.c;
      (c.*member)[1] = bad;
      CHECK_FALSE(c.well_formed(p));
    }
}

TEST_CASE("costs over many orders of magnitude do not disturb the cut") {
  Random random(5);
  for (int i = 0; i < 300; ++i) {
    const SplitBuilder b = random_dag(random, 2 + below(random, 8), 2, 30);
    const SplitProblem p = b.build(2);
    CostTable c = random_costs(random, p.units(), 2, 0, false);
    for (double& cost : c.compute) cost *= std::pow(10.0, below(random, 10));
    const double least = Enumeration(b, c, 2).least();
    REQUIRE(split_by_cost(p, c).time.total() == doctest::Approx(least).epsilon(1e-9));
  }
}

TEST_CASE("the same problem gives the same plan, and an unused device changes no time") {
  Random random(6);
  for (int i = 0; i < 20; ++i) {
    const SplitBuilder b = random_dag(random, 60, 2, 5);
    const SplitProblem p = b.build(2);
    const CostTable c = random_costs(random, 60, 2, 10, false);
    const CostSplit first = split_by_cost(p, c), second = split_by_cost(p, c);
    CHECK(first.part == second.part);
    CHECK(first.devices == second.devices);
    SplitProblem wider = p;
    wider.devices = 3;
    CostTable wide{{}, c.launch, std::vector<double>(9, 0), std::vector<double>(9, 0)};
    wide.launch.push_back(0);
    for (uint32_t u = 0; u < 60; ++u) wide.compute.insert(wide.compute.end(), {c.compute[u * 2], c.compute[u * 2 + 1], 0});
    for (int from : {0, 1})
      for (int to : {0, 1}) wide.latency[from * 3 + to] = c.latency[from * 2 + to], wide.per_byte[from * 3 + to] = c.per_byte[from * 2 + to];
    CHECK(split_by_cost(wider, wide).part == first.part);
  }
}

TEST_CASE("larger DAGs on up to five devices stay legal, above their bound, and no slower than any one device") {
  Random random(7);
  for (uint32_t devices : {2u, 3u, 5u})
    for (uint32_t units : {100u, 400u}) {
      const SplitBuilder b = random_dag(random, units, devices, 2);
      const SplitProblem p = b.build(devices);
      const CostTable c = random_costs(random, units, devices, 10, true);
      const CostSplit s = split_by_cost(p, c);
      Split legal;
      legal.devices = s.devices, legal.part = s.part;
      CHECK(std::string(wrong_with(legal, p)) == "");
      CHECK(s.bound <= s.time.total());
      for (double whole : s.one_device) CHECK(s.time.total() <= whole);
      PlanTime sum;
      for (const PlanTime& one : times_by_device(p, c, s.devices, s.part))
        sum.compute += one.compute, sum.launch += one.launch, sum.transfer += one.transfer;
      CHECK(sum.compute == doctest::Approx(s.time.compute));
      CHECK(sum.launch == doctest::Approx(s.time.launch));
      CHECK(sum.transfer == doctest::Approx(s.time.transfer));
      const Split fewest = split(p);
      std::vector<uint32_t> device;
      for (uint32_t part : fewest.part) device.push_back(fewest.devices[part]);
      CHECK(s.time.total() <= time_of(p, c, device).total() + kRounding);
    }
}
