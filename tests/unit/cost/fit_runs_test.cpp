// SPDX-License-Identifier: Apache-2.0
#include "core/cost/fit_runs.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <numeric>
#include <random>

#include "core/cost/device_costs.hpp"

using namespace optima;

namespace {

// A chain of 24 nodes whose true times nobody tells, cut into pieces at `cuts`; every second piece is the device's.
struct Chain {
  std::vector<double> us;
  std::vector<double> bytes;  // of the tensor after each node
  double launch = 80, in = 2e-4, out = 1e-4;

  explicit Chain(uint64_t seed) {
    std::mt19937_64 random(seed);
    for (int n = 0; n < 24; ++n) us.push_back(20 + static_cast<double>(random() % 80)), bytes.push_back(static_cast<double>(random() % 1000000));
  }
  RunSample piece(uint32_t begin, uint32_t end) const {
    RunSample s{launch, begin > 0 ? bytes[begin - 1] : 0, end < us.size() ? bytes[end - 1] : 0, std::vector<uint32_t>(end - begin)};
    std::iota(s.nodes.begin(), s.nodes.end(), begin);
    for (uint32_t n : s.nodes) s.microseconds += us[n];
    s.microseconds += in * s.bytes_in + out * s.bytes_out;
    return s;
  }
  std::vector<RunSample> pieces(uint32_t length) const {
    std::vector<RunSample> out;
    for (uint32_t begin = 0; begin < us.size(); begin += length) out.push_back(piece(begin, begin + length));
    return out;
  }
};

double estimate(const RunFit& fit, const RunSample& s) {
  double us = fit.launch_us + s.bytes_in * fit.us_per_byte_in + s.bytes_out * fit.us_per_byte_out;
  for (uint32_t n : s.nodes) us += fit.nodes[n];
  return us;
}

}  // namespace

TEST_CASE("a launch and the bytes of a boundary are told apart from compute, and pieces that were not measured come out near the truth") {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    CAPTURE(seed);
    const Chain chain(seed);
    std::vector<RunSample> samples = chain.pieces(4);
    samples.push_back(chain.piece(0, 24));
    // The guesses: all nodes alike, launch and boundaries of the whole run in them.
    const std::vector<NodeGuess> guesses(24, {samples.back().microseconds / 24, 1});
    const RunFit fit = fit_runs(guesses, samples);
    // A launch and bytes trade places where pieces send and receive alike; together they are found.
    const double mean = std::accumulate(chain.bytes.begin(), chain.bytes.end(), 0.0) / 24, truth = chain.launch + mean * (chain.in + chain.out);
    CHECK(fit.launch_us + mean * (fit.us_per_byte_in + fit.us_per_byte_out) == doctest::Approx(truth).epsilon(0.35));
    CHECK(fit.off < 0.05);
    double wrong = 0, naive = 0;
    for (const RunSample& s : chain.pieces(3)) {
      wrong += std::abs(estimate(fit, s) - s.microseconds) / 8;
      naive += std::abs(guesses[0].microseconds * 3 - s.microseconds) / 8;
    }
    CHECK(wrong < 0.6 * naive);
  }
}

TEST_CASE("exact guesses and samples give launch and rates back exactly") {
  const Chain chain(7);
  std::vector<NodeGuess> guesses;
  for (double us : chain.us) guesses.push_back({us, 0});
  const RunFit fit = fit_runs(guesses, chain.pieces(2));
  CHECK(fit.launch_us == doctest::Approx(80).epsilon(0.02));
  CHECK(fit.us_per_byte_in == doctest::Approx(2e-4).epsilon(0.05));
  CHECK(fit.us_per_byte_out == doctest::Approx(1e-4).epsilon(0.05));
  CHECK(fit.nodes == chain.us);
}

TEST_CASE("nothing comes out negative: pieces that take less than their nodes mean no launch, and nodes keep a part of their guess") {
  Chain chain(3);
  chain.launch = -30, chain.in = -1e-4, chain.out = -1e-4;
  std::vector<RunSample> samples;
  for (const RunSample& s : chain.pieces(6))
    if (s.microseconds > 0) samples.push_back(s);
  REQUIRE(samples.size() >= 2);
  std::vector<NodeGuess> guesses;
  for (double us : chain.us) guesses.push_back({us, 1});
  const RunFit fit = fit_runs(guesses, samples);
  CHECK(fit.launch_us >= 0);
  CHECK(fit.us_per_byte_in >= 0);
  CHECK(fit.us_per_byte_out >= 0);
  for (size_t n = 0; n < guesses.size(); ++n) CHECK(fit.nodes[n] >= 0.05 * guesses[n].microseconds * (1 - 1e-12));
}

TEST_CASE("of one node the later file counts, but not where it comes from a smaller subgraph") {
  const DeviceName name = *parse_device("X64:0");
  MeasuredDevice whole{name, 1, {{"a", {10, CostMethod::Share}}, {"b", {20, CostMethod::Share}}}, {{30, 0, 0, {"a", "b"}}}};
  MeasuredDevice cut{name, 2, {{"a", {90, CostMethod::Share}}}, {}};
  const std::vector<std::string_view> names = {"a", "b"};
  DeviceCosts costs = device_costs({&whole, &cut}, names);
  CHECK(costs.nodes[0].microseconds == 90);  // no runs: written by somebody
  CHECK(costs.launch_us == 2);
  CHECK(costs.fit.empty());
  cut.runs = {{90, 0, 4000, {"a"}}};
  costs = device_costs({&whole, &cut}, names);
  CHECK(costs.nodes[0].source == "fit");
  CHECK(costs.nodes[0].microseconds < 30);
  CHECK(costs.launch_us + costs.nodes[0].microseconds > 30);
  CHECK(costs.us_per_byte_out > 0);
  CHECK(costs.fit.find("fitted to 2 measured subgraphs") != std::string::npos);
  const DeviceCosts other_order = device_costs({&cut, &whole}, names);
  CHECK(other_order.nodes[0].microseconds == doctest::Approx(costs.nodes[0].microseconds));
}

TEST_CASE("times written by hand stay, and runs of another model do not count") {
  const DeviceName name = *parse_device("X64:0");
  const MeasuredDevice runs{name, 1, {{"a", {10, CostMethod::Given}}, {"b", {20, CostMethod::Share}}},
                            {{60, 0, 0, {"a", "b"}}, {45, 0, 0, {"a"}}, {99, 0, 0, {"a", "elsewhere"}}}};
  const DeviceCosts costs = device_costs({&runs}, {"a", "b", "c"});
  CHECK(costs.nodes[0].microseconds == 10);
  CHECK(costs.nodes[0].source == "given");
  CHECK(costs.nodes[1].source == "fit");
  CHECK(costs.nodes[2].microseconds < 0);
  CHECK(costs.fit.find("fitted to 2 measured subgraphs") != std::string::npos);
}

TEST_CASE("times beyond all sense give finite costs") {
  const DeviceName name = *parse_device("X64:0");
  for (double us : {1e300, 1e-300}) {
    const MeasuredDevice runs{name, 1, {{"a", {us, CostMethod::Share}}, {"b", {20, CostMethod::Profile}}},
                              {{us, 0, 0, {"a"}}, {60, 1u << 30, 0, {"a", "b"}}}};
    const DeviceCosts costs = device_costs({&runs}, {"a", "b"});
    CAPTURE(us);
    for (const DeviceCosts::Node& node : costs.nodes) CHECK(std::isfinite(node.microseconds));
    CHECK(std::isfinite(costs.launch_us));
    CHECK_FALSE(costs.fit.empty());
  }
}
