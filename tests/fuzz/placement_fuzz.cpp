// SPDX-License-Identifier: Apache-2.0
// tests/fuzz: allocation and costs files with damage, costs beyond sense, and plugins that lie. Nothing may crash, and no plan may be wrong: make_plan() has
// every plan checked by validate(), so an Internal status is a failure here.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "core/cost/costs_file.hpp"
#include "core/plan/plan_json.hpp"
#include "core/plan/validate.hpp"
#include "core/report/what_if.hpp"
#include "tests/unit/placement/placing.hpp"

using namespace optima;
using namespace optima::test;

namespace {

// Under a sanitizer a round takes some thirty times as long: a tenth of them is run, the same ones on every machine.
#ifdef __SANITIZE_ADDRESS__
constexpr int kShare = 10;
#else
constexpr int kShare = 1;
#endif

using Random = std::mt19937_64;
uint32_t below(Random& random, uint32_t n) { return static_cast<uint32_t>(random() % n); }

// Some forty nodes, each reading one or two earlier values; every ninth is an If with a body that captures.
struct Tangle : Setup {
  explicit Tangle(Random& random) {
    std::vector<uint32_t> values = {input("x"), constant("w")};
    for (int i = 0; i < 40; ++i) {
      const std::string name = "n" + std::to_string(i);
      const auto any = [&] { return values[below(random, static_cast<uint32_t>(values.size()))]; };
      const bool holds = i % 9 == 8;
      const uint32_t captured = any();
      values.push_back(node(name, holds ? "If" : kAllOps[below(random, 3)], {any(), any()}));
      if (holds) graph.contents.graphs[body(name + "/body", {captured})].outputs = {0};
    }
    const Uses uses = uses_of(graph);
    for (uint32_t v = 2; v < graph.main().values.size(); ++v)
      if (uses.consumers[v].empty()) output(v);
    candidates({"NPU:0", "CPU:0"});
  }
  uint32_t any_id(Random& random) const { return graph.main().nodes[below(random, static_cast<uint32_t>(graph.main().nodes.size()))].id; }
};

void lie(Random& random, Tangle& tangle, FakePlugin& plugin) {
  for (uint32_t i = below(random, 30); i > 0; --i) {
    const uint32_t id = tangle.any_id(random);
    Verdict said{id, below(random, 8), below(random, 20), below(random, 4) ? below(random, 5) : OPTIMA_NONE, "", "", "", below(random, 2) ? "because" : ""};
    switch (below(random, 6)) {
      case 0: plugin.silent.insert(id); break;
      case 1: plugin.extra.push_back(said); break;                                  // said twice
      case 2: said.node = static_cast<uint32_t>(random()), plugin.extra.push_back(said); break;  // never asked
      case 3: said.verdict = static_cast<uint32_t>(random()); [[fallthrough]];
      default: plugin.verdicts[id] = said;
    }
  }
  if (below(random, 12) == 0) plugin.failure = plugin_error("check broke down");
}

void limit(Random& random, Limits& limits) {
  const auto sometimes = [&](uint32_t most) { return below(random, 4) ? uint64_t{0} : uint64_t{below(random, most)}; };
  limits.max_subgraphs = sometimes(6), limits.max_nodes = sometimes(12), limits.max_io = sometimes(12), limits.memory = sometimes(400);
  limits.connected_only = below(random, 4) == 0;
  if (below(random, 4) == 0) limits.not_first = {kAllOps[below(random, 4)]};
  if (below(random, 4) == 0) limits.not_last = {kAllOps[below(random, 4)]};
}

Tangle& wished(Random& random, Tangle& tangle) {
  for (uint32_t i = below(random, 6); i > 0; --i) {
    const std::string name = "n" + std::to_string(below(random, 40));
    const uint32_t id = tangle.id_of(name);
    if (id < tangle.request.wishes.size() && !tangle.request.wishes[id].devices.empty()) continue;
    below(random, 2) ? tangle.wish(name, {below(random, 2) ? "NPU:0" : "CPU:0"}) : tangle.wish(name, {"NPU:0", "CPU:0"}, false);
  }
  return tangle;
}

// Microseconds as somebody may write or measure them: nothing, tiny, ordinary, beyond all sense.
double time_of(Random& random) {
  static constexpr double kOdd[] = {0, 0, 1e-300, 1e-9, 1, 1e9, 1e15, 1e300};
  return below(random, 3) ? static_cast<double>(below(random, 1000)) / 8 : kOdd[below(random, std::size(kOdd))];
}

void cost(Random& random, Tangle& tangle) {
  tangle.request.objective = Objective::Latency;
  for (const DeviceName& device : tangle.request.candidates) {
    MeasuredDevice measured{device, below(random, 2) ? -1 : time_of(random), {}};
    for (int i = 0; i < 40; ++i)
      if (below(random, 8)) measured.nodes["n" + std::to_string(i)] = {time_of(random), static_cast<CostMethod>(below(random, 3))};
    for (uint32_t run = below(random, 4); run > 0; --run) {
      MeasuredRun& one = measured.runs.emplace_back(MeasuredRun{time_of(random), below(random, 1u << 20), below(random, 1u << 20), {}});
      for (uint32_t i = below(random, 20); i < 40; ++i) one.nodes.push_back("n" + std::to_string(i));
    }
    tangle.request.costs.push_back({"driven", tangle.graph.model_hash, {std::move(measured)}});
    tangle.request.settings.push_back({device, {}, 0, below(random, 2) ? 0 : time_of(random), 1, 1});
  }
  const auto &a = tangle.request.candidates[0], &b = tangle.request.candidates[1];
  if (below(random, 4)) tangle.request.links = {{a, b, time_of(random), below(random, 2) ? 0 : 1e-3}, {b, a, time_of(random), 1e6}};
}

std::string damaged(Random& random, std::string text) {
  static const std::vector<std::string> pieces = {"{", "}", "[", "]", ":", ",", "\"", "null", "1e999", "-1", "\\u0000", "\\ud800", "*", "?", "op:", "\n", "\xff", "//"};
  for (uint32_t n = below(random, 4) + 1; n > 0 && !text.empty(); --n) {
    const size_t at = random() % text.size();
    switch (below(random, 4)) {
      case 0: text[at] = static_cast<char>(random()); break;
      case 1: text.erase(at, random() % 9); break;
      case 2: text.insert(at, pieces[below(random, static_cast<uint32_t>(pieces.size()))]); break;
      default: text.insert(at, text.substr(random() % text.size(), random() % 20)); break;
    }
  }
  return text;
}

}  // namespace

TEST_CASE("plugins that lie, are silent, contradict themselves or declare any limits only ever get a valid plan or a Placement error") {
  Random random(1);
  std::map<StatusKind, int> kinds;
  for (int i = 0; i < 3000 / kShare; ++i) {
    Tangle tangle(random);
    lie(random, tangle, tangle.npu);
    if (i % 4 == 0) lie(random, tangle, tangle.cpu);
    if (i % 2) limit(random, tangle.npu.manifest_.limits);
    if (i % 5 == 0) limit(random, tangle.cpu.manifest_.limits);
    if (i % 7 == 0) tangle.request.max_subgraphs = 1 + below(random, 8);
    const Result<Plan> plan = make_plan(wished(random, tangle).graph, tangle.request);
    INFO(plan.status().message());
    CHECK((plan.ok() || plan.status().kind() == StatusKind::Placement));
    ++kinds[plan.status().kind()];
  }
  MESSAGE("of " << 3000 / kShare << ": " << kinds[StatusKind::Ok] << " plans, " << kinds[StatusKind::Placement] << " refusals");
  CHECK(kinds[StatusKind::Ok] > 300 / kShare);
  CHECK(kinds[StatusKind::Placement] > 300 / kShare);
}

TEST_CASE("what-if of any plan starts from the plan's own number, by the file alone, and no yes makes a plan without lists worse") {
  Random random(9);
  int cases = 0, by_time = 0;
  for (int i = 0; i < 240 / kShare; ++i) {
    Tangle tangle(random);
    lie(random, tangle, tangle.npu);
    if (i % 2) limit(random, tangle.npu.manifest_.limits);
    if (i % 5 == 0) limit(random, tangle.cpu.manifest_.limits);
    if (i % 7 == 0) tangle.request.max_subgraphs = 1 + below(random, 8);
    if (i % 3 == 0) cost(random, tangle);
    const Result<Plan> plan = make_plan(wished(random, tangle).graph, tangle.request);
    if (!plan.ok()) continue;
    const Result<Plan> read = plan_from_json(plan_to_json(*plan), "plan.json");
    REQUIRE(read.ok());
    const Result<WhatIfReport> report = what_if(*read);
    INFO(report.status().message());
    REQUIRE(report.ok());
    const auto& wishes = tangle.request.wishes;
    const bool lists = std::any_of(wishes.begin(), wishes.end(), [](const auto& wish) { return wish.devices.size() > 1; });
    CHECK(report->by_time == plan->estimate.has_value());
    if (!report->by_time) CHECK(report->subgraphs == count_subgraphs(*plan));
    for (const WhatIf& c : report->cases) {
      ++cases, by_time += report->by_time;
      if (lists) continue;  // a yes may be the first of a list, which is then kept whatever it costs
      if (!report->by_time) CHECK(c.subgraphs <= report->subgraphs);
      else if (c.microseconds) CHECK(*c.microseconds <= *report->microseconds);
    }
  }
  MESSAGE(cases << " cases, " << by_time << " by time");
  CHECK(cases > 500 / kShare);
  CHECK(by_time > 100 / kShare);
}

TEST_CASE("what-if says the number of subgraphs that planning again finds when the device takes those nodes") {
  Random random(17);
  int cases = 0, saved = 0;
  for (int i = 0; i < 200 / kShare; ++i) {
    Tangle tangle(random);
    tangle.npu.manifest_.operators.push_back(FakePlugin::row("Exp"));
    for (uint32_t n = 6 + below(random, 12); n > 0; --n)
      tangle.npu.refuse(tangle.any_id(random), below(random, 2) ? OPTIMA_REASON_DTYPE : OPTIMA_REASON_ATTRIBUTE, "no");
    for (uint32_t n = 4; n > 0; --n)
      if (const uint32_t id = tangle.any_id(random); !tangle.npu.verdicts.count(id)) tangle.cpu.refuse(id, OPTIMA_REASON_OTHER, "no");
    const Result<Plan> plan = make_plan(wished(random, tangle).graph, tangle.request);
    if (!plan.ok()) continue;
    const Result<Plan> read = plan_from_json(plan_to_json(*plan), "plan.json");
    REQUIRE(read.ok());
    const Result<WhatIfReport> report = what_if(*read);
    REQUIRE(report.ok());
    for (const WhatIf& c : report->cases) {
      if (c.device != "NPU:0" || c.op.empty() || c.reason == "OP") continue;  // what its note lacks is no verdict's to change
      const std::map<uint32_t, Verdict> before = tangle.npu.verdicts;
      for (const image::Node& node : tangle.graph.main().nodes)
        if (node.op_type == c.op && before.count(node.id) && reason_name(before.at(node.id).reason) == c.reason) tangle.npu.verdicts.erase(node.id);
      const Result<Plan> truth = make_plan(tangle.graph, tangle.request);
      tangle.npu.verdicts = before;
      REQUIRE(truth.ok());
      CHECK(c.subgraphs == count_subgraphs(*truth));
      ++cases, saved += c.subgraphs < report->subgraphs;
    }
  }
  MESSAGE(cases << " cases, " << saved << " that save subgraphs");
  CHECK(cases > 200 / kShare);
  CHECK(saved > 10 / kShare);
}

TEST_CASE("costs of any size, and plugins that lie, only ever get a valid plan whose time is not below its bound, or a Placement error") {
  Random random(5);
  int plans = 0;
  for (int i = 0; i < 1000 / kShare; ++i) {
    Tangle tangle(random);
    cost(random, tangle);
    if (i % 3 == 0) lie(random, tangle, tangle.npu);
    if (i % 4 == 0) limit(random, tangle.npu.manifest_.limits);
    const Result<Plan> plan = make_plan(wished(random, tangle).graph, tangle.request);
    INFO(plan.status().message());
    CHECK((plan.ok() || plan.status().kind() == StatusKind::Placement));
    if (!plan.ok()) continue;
    ++plans;
    REQUIRE(plan->estimate.has_value());
    CHECK(std::isfinite(plan->estimate->total()));
    CHECK(plan->estimate->bound <= plan->estimate->total() * (1 + 1e-9));
    const Result<Plan> back = plan_from_json(plan_to_json(*plan), "plan.json");
    CHECK_MESSAGE(back.ok(), back.status().message());
  }
  MESSAGE("of " << 1000 / kShare << ": " << plans << " plans");
  CHECK(plans > 300 / kShare);
}

TEST_CASE("damaged costs are read or refused with a place") {
  Random random(6);
  const std::string whole =
      R"({"format": 2, "model": {"name": "net", "hash": "00"}, "devices": [{"device": "npu/NPU:0", "launch_us": 0.5, "profile": {"a": 120.5}, "given": {"b": 1e3}}, {"device": "CPU:0", "share": {"a": 2}, "runs": [{"microseconds": 3, "bytes_in": 8, "bytes_out": 0, "nodes": ["a"]}]}]})";
  std::map<StatusKind, int> kinds;
  for (int i = 0; i < 30000 / kShare; ++i) {
    const Result<MeasuredCosts> costs = parse_costs(damaged(random, whole), "costs.json");
    CHECK((costs.ok() || costs.status().kind() == StatusKind::InvalidInput));
    ++kinds[costs.status().kind()];
  }
  MESSAGE("of " << 30000 / kShare << ": " << kinds[StatusKind::Ok] << " read");
  CHECK(kinds[StatusKind::Ok] > 300 / kShare);
}

TEST_CASE("a plugin that takes back one yes after another while compiling ends in a plan without it or in a Placement error") {
  Random random(2);
  int ended_without = 0;
  for (int i = 0; i < 100 / kShare; ++i) {
    Tangle tangle(random);
    for (int round = 0; round < 200; ++round) {
      const Result<Plan> plan = make_plan(tangle.graph, tangle.request);
      INFO(plan.status().message());
      REQUIRE((plan.ok() || plan.status().kind() == StatusKind::Placement));
      if (!plan.ok()) break;
      std::vector<uint32_t> on_npu;
      for (const PlacedNode& node : plan->nodes)
        if (plan->devices[node.device].plugin == "fastnpu") on_npu.push_back(node.node_id);
      if (on_npu.empty()) {
        ++ended_without;
        break;
      }
      tangle.request.compile_refusals[{on_npu[random() % on_npu.size()], "fastnpu"}] = "too late";
    }
  }
  CHECK(ended_without == 100 / kShare);
}

TEST_CASE("damaged allocations are read, or refused with a place, and what is read resolves or is refused") {
  Random random(3);
  Tangle tangle(random);
  const std::string whole = R"({"n1": "X64:0", "n2": ["NPU:0", "CPU:0"], "n*": "auto", "op:Relu": "fastnpu/NPU:1", "n1?*": "CPU:0", "*": "auto"})";
  std::map<StatusKind, int> kinds;
  for (int i = 0; i < 60000 / kShare; ++i) {
    const Result<Json> json = parse_json(damaged(random, whole), "alloc.json");
    if (!json.ok()) {
      CHECK(json.status().kind() == StatusKind::InvalidInput);
      ++kinds[StatusKind::Usage];  // counted apart: no JSON at all
      continue;
    }
    const Result<Allocation> allocation = parse_allocation(*json, "alloc.json");
    const Status status = allocation.ok() ? resolve(*allocation, tangle.graph).status() : allocation.status();
    CHECK((status.ok() || status.kind() == StatusKind::InvalidInput));
    ++kinds[status.kind()];
  }
  MESSAGE("of " << 60000 / kShare << ": " << kinds[StatusKind::Usage] << " no JSON, " << kinds[StatusKind::InvalidInput] << " refused, " << kinds[StatusKind::Ok] << " resolved");
  CHECK(kinds[StatusKind::InvalidInput] > 1000 / kShare);
  CHECK(kinds[StatusKind::Ok] > 1000 / kShare);
}

TEST_CASE("damaged plans are read or refused, and the validator judges what is read") {
  Random random(4);
  Tangle tangle(random);
  tangle.npu.manifest_.limits.max_nodes = 3;
  const std::string whole = to_text(plan_to_json(tangle.plan()));
  int read = 0, valid = 0;
  for (int i = 0; i < 3000 / kShare; ++i) {
    const Result<Json> json = parse_json(damaged(random, whole), "plan.json");
    if (!json.ok()) continue;
    const Result<Plan> plan = plan_from_json(*json, "plan.json");
    if (!plan.ok()) {
      CHECK(plan.status().kind() == StatusKind::InvalidInput);
      continue;
    }
    ++read;
    valid += validate(*plan, tangle.graph, tangle.request).ok();
  }
  MESSAGE("of " << 3000 / kShare << ": " << read << " read, " << valid << " still valid");
  CHECK(read > 100 / kShare);
}
