// SPDX-License-Identifier: Apache-2.0
// The latency objective from plugins' and users' costs to the plan's reasons.
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

#include "core/placement/measured.hpp"
#include "core/plan/plan_json.hpp"
#include "core/report/report.hpp"
#include "tests/unit/placement/placing.hpp"

using namespace optima;
using namespace optima::test;

namespace {

struct Estimating : FakePlugin {
  using FakePlugin::FakePlugin;
  std::function<double(uint32_t id)> microseconds = [](uint32_t) { return -1.0; };
  Status broken;
  int estimates = 0;
  size_t last_asked = 0;  ///< nodes of the last question
  Result<std::vector<NodeCost>> estimate(const optima_graph&, std::span<const uint32_t> nodes, const TargetDevice&) override {
    ++estimates, last_asked = nodes.size();
    if (!broken.ok()) return broken;
    std::vector<NodeCost> out;
    for (uint32_t id : nodes) out.push_back({id, microseconds(id), 0, false});
    return out;
  }
};

// x -> a(Relu) -> b(Exp) -> c(Relu) -> y; both devices take everything.
struct Timed : GraphBuilder {
  Estimating cpu{"slowcpu", {"CPU"}, kAllOps}, npu{"fastnpu", {"NPU"}, kAllOps};
  PlacementRequest request;
  Timed() {
    const uint32_t x = input("x");
    output(node("c", "Relu", {node("b", "Exp", {node("a", "Relu", {x})})}));
    request.plugins = {&npu, &cpu};
    request.candidates = {*parse_device("NPU:0"), *parse_device("CPU:0")};
    request.objective = Objective::Latency;
    link(0);
  }
  void link(double latency_us) {
    const DeviceName a = *parse_device("NPU:0"), b = *parse_device("CPU:0");
    request.links = {{a, b, latency_us, 0}, {b, a, latency_us, 0}};
  }
  void measured(const std::string& device, std::map<std::string, double> nodes, CostMethod method = CostMethod::Given) {
    MeasuredDevice one{*parse_device(device), -1, {}};
    for (const auto& [name, us] : nodes) one.nodes[name] = {us, method};
    request.costs.push_back({"tiny", graph.model_hash, {std::move(one)}});
  }
  void describe(const std::string& device, double gflops, double gbytes, double launch = 0) {
    request.settings.push_back({*parse_device(device), {}, 0, launch, gflops, gbytes});
  }
  Plan plan() {
    Result<Plan> made = make_plan(graph, request);
    INFO(made.status().message());
    REQUIRE(made.ok());
    return *made;
  }
  std::string sources(uint32_t device) {
    std::string out;
    for (const PlacedNode& node : plan().nodes) out += node.answers[device].cost_source + " ";
    return out;
  }
};

bool mentions(const std::vector<std::string>& notes, const std::string& text) {
  for (const std::string& note : notes)
    if (note.find(text) != std::string::npos) return true;
  return false;
}

}  // namespace

TEST_CASE("a plugin estimates each node once, however often the graph is planned") {
  Timed t;
  t.npu.microseconds = t.cpu.microseconds = [](uint32_t) { return 1.0; };
  t.request.answers = std::make_shared<PluginAnswers>();
  t.request.compile_refusals[{t.id_of("a"), "fastnpu"}] = "kernel too large";
  t.plan();
  CHECK(t.npu.last_asked == 2);
  t.request.compile_refusals[{t.id_of("b"), "fastnpu"}] = "kernel too large";
  t.plan();
  CHECK(t.npu.estimates == 1);
  t.request.compile_refusals.clear();
  t.plan();
  CHECK(t.npu.estimates == 2);
  CHECK(t.npu.last_asked == 1);
  CHECK(t.cpu.estimates == 1);
}

TEST_CASE("the fastest device gets each node when moving is free, and one device gets all when it is not") {
  Timed t;
  t.measured("CPU:0", {{"a", 1}, {"b", 9}, {"c", 1}});
  t.measured("NPU:0", {{"a", 5}, {"b", 2}, {"c", 5}});
  Plan plan = t.plan();
  CHECK(devices_of(plan) == "CPU:0 NPU:0 CPU:0 ");
  REQUIRE(plan.estimate);
  CHECK(plan.estimate->total() == doctest::Approx(4));
  CHECK(plan.estimate->gap() == doctest::Approx(0));
  CHECK(*plan.estimate->devices[0].alone == doctest::Approx(12));
  CHECK(*plan.estimate->devices[1].alone == doctest::Approx(11));
  CHECK(plan.nodes[1].why == Why::Cost);
  CHECK(plan.nodes[1].sentence == "the fastest plan found has it on NPU:0; on CPU:0: slower by 7.00 us, saves 2 subgraphs");
  CHECK(plan.nodes[0].answers[0].text == "slower by 4.00 us, saves 1 subgraph");
  t.link(4);
  plan = t.plan();
  CHECK(devices_of(plan) == "CPU:0 CPU:0 CPU:0 ");
  CHECK(plan.estimate->total() == doctest::Approx(11));
  CHECK(plan.nodes[1].answers[0].text == "slower by 1.00 us, adds 2 subgraphs");
}

TEST_CASE("a measurement wins over the plugin's estimate, that over the roofline, and each node says which it was") {
  Timed t;
  t.describe("CPU:0", 1, 1);
  t.describe("NPU:0", 1, 1);
  CHECK(t.sources(0) == "roofline roofline roofline ");
  t.describe("fastnpu/NPU:0", 2, 2);  // what is said of the full name wins, wherever it stands
  t.describe("NPU:0", 1, 1);
  const Plan by_full_name = t.plan();
  CHECK(by_full_name.nodes[0].answers[0].microseconds * 2 == doctest::Approx(by_full_name.nodes[0].answers[1].microseconds));
  t.request.settings.resize(2);
  t.npu.microseconds = [](uint32_t id) { return id == 102 ? -1.0 : 7.0; };
  CHECK(t.sources(0) == "plugin plugin roofline ");
  t.measured("fastnpu/NPU:0", {{"b", 3}}, CostMethod::Profile);
  CHECK(t.sources(0) == "plugin profile roofline ");
  const Plan plan = t.plan();
  CHECK(plan.nodes[1].answers[0].microseconds == 3);
  CHECK(plan.nodes[0].answers[0].microseconds == 7);
  CHECK(plan.nodes[2].answers[0].microseconds == doctest::Approx(32e-3));  // 32 bytes at 1 GB/s
}

TEST_CASE("without a description, nodes that were not measured are modelled to the scale of those that were") {
  Timed t;
  t.describe("CPU:0", 1, 1);
  t.measured("NPU:0", {{"a", 10}});
  const Plan plan = t.plan();
  CHECK(plan.nodes[2].answers[0].cost_source == "scaled");
  CHECK(plan.nodes[2].answers[0].microseconds == doctest::Approx(10));  // the same work as a
}

TEST_CASE("a device of which nothing is known is an error that says what to do") {
  Timed t;
  t.describe("CPU:0", 1, 1);
  const Result<Plan> made = make_plan(t.graph, t.request);
  CHECK(made.status().kind() == StatusKind::InvalidInput);
  CHECK(made.status().message().find("no cost is known of NPU:0 (plugin 'fastnpu') for 3 nodes that it takes, the first is 'a' (Relu)") !=
        std::string::npos);
  CHECK(made.status().message().find("--write-costs") != std::string::npos);
}

TEST_CASE("a device that nobody named and of which nothing is known is left out where there is another, with a note") {
  Timed t;
  t.npu.present = {{"NPU", "npu", "", "", "", 0, {}}};
  t.cpu.present = {{"CPU", "cpu", "", "", "", 0, {}}};
  t.request.candidates.clear();
  t.measured("CPU:0", {{"a", 1}, {"b", 9}, {"c", 1}});
  const Plan plan = t.plan();
  CHECK(devices_of(plan) == "CPU:0 CPU:0 CPU:0 ");
  CHECK(mentions(plan.notes, "NPU:0 is here too but left out, as no cost is known of it: measure with 'optima-host calibrate-costs"));
  CHECK(plan.nodes[0].answers[0].text == "left out, no cost is known of it");
  t.cpu.refuse(t.id_of("b"), OPTIMA_REASON_DTYPE, "no");  // then it cannot be spared
  CHECK(make_plan(t.graph, t.request).status().message().starts_with("objective latency: no cost is known of NPU:0"));
}

TEST_CASE("a plugin whose costs are nonsense or fail hurts itself only") {
  Timed t;
  t.describe("CPU:0", 1, 1);
  t.describe("NPU:0", 1, 1);
  t.npu.microseconds = [](uint32_t id) { return id == 100 ? double{NAN} : id == 101 ? double{INFINITY} : -3.0; };
  Plan plan = t.plan();
  CHECK(plan.nodes[0].answers[0].cost_source == "roofline");
  CHECK(mentions(plan.notes, "plugin 'fastnpu' estimates 2 costs that are no times"));
  t.npu.broken = plugin_error("no licence");
  plan = t.plan();
  CHECK(mentions(plan.notes, "plugin 'fastnpu' could not estimate costs: no licence"));
  CHECK(plan.nodes[0].answers[0].cost_source == "roofline");
}

TEST_CASE("a slow device is left alone, and a pin to it is obeyed whatever it costs") {
  Timed t;
  t.describe("CPU:0", 1e-3, 1e-3);
  t.describe("NPU:0", 10, 10);
  CHECK(devices_of(t.plan()) == "NPU:0 NPU:0 NPU:0 ");
  t.request.wishes.resize(200);
  t.request.wishes[101].devices = {*parse_device("CPU:0")};
  t.request.wishes[101].hard = true;
  const Plan plan = t.plan();
  CHECK(devices_of(plan) == "NPU:0 CPU:0 NPU:0 ");
  CHECK(plan.nodes[1].why == Why::Pinned);
}

TEST_CASE("launches, links and bytes are in the estimate, and missing links are said") {
  Timed t;
  t.describe("CPU:0", 1, 1, 3);
  t.describe("NPU:0", 1, 1, 5);
  t.request.wishes.resize(200);
  t.request.wishes[101].devices = {*parse_device("CPU:0")};
  t.request.links = {{*parse_device("NPU:0"), *parse_device("CPU:0"), 2, 1}};
  t.request.wishes[100].devices = t.request.wishes[102].devices = {*parse_device("NPU:0")};
  const Plan plan = t.plan();
  CHECK(plan.estimate->launch == doctest::Approx(5 + 3 + 5));
  CHECK(plan.estimate->transfer == doctest::Approx(2 + 16e-3));
  CHECK(plan.estimate->devices[1].transfer == doctest::Approx(2 + 16e-3));
  CHECK(plan.estimate->devices[0].launch == doctest::Approx(10));
  CHECK(mentions(plan.notes, "no link is known from CPU:0 to NPU:0: moving tensors there counts as free"));
}

TEST_CASE("limits hold for the fastest plan too: where it breaks them, the plan of the fewest subgraphs is taken, with its own estimate") {
  Timed t;
  t.measured("CPU:0", {{"a", 1}, {"b", 9}, {"c", 1}});
  t.measured("NPU:0", {{"a", 5}, {"b", 2}, {"c", 5}});
  t.request.max_subgraphs = 3;
  CHECK(t.plan().subgraphs.size() == 3);
  t.request.max_subgraphs = 1;
  const Plan plan = t.plan();
  CHECK(plan.subgraphs.size() == 1);
  CHECK(mentions(plan.notes, "cannot be cut within the limits"));
  CHECK(plan.estimate->total() == doctest::Approx(devices_of(plan) == "CPU:0 CPU:0 CPU:0 " ? 11 : 12));
}

TEST_CASE("costs of another model file count by name, with a note") {
  Timed t;
  t.describe("CPU:0", 1, 1);
  t.measured("NPU:0", {{"a", 1}, {"b", 1}, {"c", 1}});
  CHECK_FALSE(mentions(t.plan().notes, "another model file"));
  t.request.costs[0].model_hash = std::string(64, 'b');
  CHECK(mentions(t.plan().notes, "costs of 'tiny' are of another model file"));
}

TEST_CASE("a plan with an estimate reads back with it, and its summary shows it") {
  Timed t;
  t.describe("CPU:0", 1, 1, 3);
  t.describe("NPU:0", 2, 2, 5);
  const Plan plan = t.plan();
  const Json json = plan_to_json(plan);
  CHECK(json["objective"] == "latency");
  const Result<Plan> back = plan_from_json(json, "plan.json");
  INFO(back.status().message());
  REQUIRE(back.ok());
  CHECK(plan_to_json(*back) == json);
  const std::string summary = placement_summary(plan);
  CHECK(summary.find("estimated time of a run: 3.10 us (no plan below 3.05 us, gap 1.7 %): compute 0.10 us, launches 3.00 us, transfers 0.00 us") !=
        std::string::npos);
  Json bad = json;
  bad["estimate"]["bound"] = -1;
  CHECK(plan_from_json(bad, "p").status().message() == "p.estimate: bound: found -1, wanted 0 or more");
}

TEST_CASE("what a cut costs on either side of it is found from runs of different extents, and charged to what crosses") {
  Timed t;
  t.measured("CPU:0", {{"a", 10}, {"b", 10}, {"c", 10}});
  t.measured("NPU:0", {{"a", 9}, {"b", 12}, {"c", 12}});
  // Measured with larger tensors. CPU: 20 us a launch, 1 us for 1,000 bytes out; NPU: 1 us for 1,000 bytes in.
  t.request.costs[0].devices[0].runs = {{50, 0, 0, {"a", "b", "c"}}, {130, 0, 100000, {"a"}}, {30, 90000, 0, {"c"}}};
  t.request.costs[1].devices[0].runs = {{33, 0, 0, {"a", "b", "c"}}, {112, 100000, 0, {"b"}}, {9, 0, 90000, {"a"}}};
  t.request.wishes.resize(200);
  t.request.wishes[101].devices = t.request.wishes[102].devices = {*parse_device("NPU:0")};
  t.request.wishes[100].devices = {*parse_device("CPU:0")};
  const Plan plan = t.plan();
  CHECK(devices_of(plan) == "CPU:0 NPU:0 NPU:0 ");
  CHECK(plan.estimate->launch == doctest::Approx(20).epsilon(0.1));
  CHECK(plan.estimate->transfer == doctest::Approx(16 * 2e-3).epsilon(0.1));
  CHECK(mentions(plan.notes, "CPU:0: fitted to 3 measured subgraphs: "));
  CHECK(mentions(plan.notes, "NPU:0: fitted to 3 measured subgraphs: "));
}

TEST_CASE("a measured time is shared out by the work that the estimate counts: products of codes are four times as fast, of 16-bit floats as floats") {
  Timed t;
  t.describe("CPU:0", 1, 1, 3);
  t.describe("NPU:0", 2, 2, 5);
  Plan plan = t.plan();
  REQUIRE(plan.subgraphs.size() == 1);
  const auto shares = [&](Arithmetic first) {
    for (PlacedNode& node : plan.nodes) node.work = {4e9, 0, true};
    plan.nodes[0].work.arithmetic = first;
    const Result<Plan> back = plan_from_json(plan_to_json(plan), "plan.json");
    INFO(back.status().message());
    REQUIRE(back.ok());
    return measured_costs(*back, {{90, {}}}, 0.5).devices.at(0).nodes;
  };
  CHECK(shares(Arithmetic::Int8).at("a").microseconds == doctest::Approx(10));
  CHECK(shares(Arithmetic::Int8).at("b").microseconds == doctest::Approx(40));
  CHECK(shares(Arithmetic::Half).at("a").microseconds == doctest::Approx(30));
}

TEST_CASE("a measured subgraph's time goes to the nodes that the profile names and to the launch, without a profile by roofline shares") {
  Timed t;
  t.describe("CPU:0", 1, 1, 3);
  t.describe("NPU:0", 2, 2, 5);
  const Plan plan = t.plan();
  REQUIRE(plan.subgraphs.size() == 1);
  const uint32_t b = plan.nodes[1].node_id;
  MeasuredCosts costs = measured_costs(plan, {{30, {}}}, 0.5);
  REQUIRE(costs.devices.size() == 1);
  CHECK(costs.devices[0].name.text() == "slowcpu/CPU:0");
  CHECK(costs.devices[0].launch_us == 0.5);
  REQUIRE(costs.devices[0].runs.size() == 1);
  CHECK(costs.devices[0].runs[0].microseconds == 30.5);
  CHECK(costs.devices[0].runs[0].bytes_in + costs.devices[0].runs[0].bytes_out == 0);
  CHECK(costs.devices[0].runs[0].nodes == std::vector<std::string>{"a", "b", "c"});
  const auto us = [&](const char* node) { return costs.devices[0].nodes.at(node).microseconds; };
  CHECK(us("a") + us("b") + us("c") == doctest::Approx(30));
  CHECK(us("a") == doctest::Approx(10));  // all three are bound by 32 bytes
  CHECK(costs.devices[0].nodes.at("a").method == CostMethod::Share);
  costs = measured_costs(plan, {{30, {{b, 20}}}}, -1);
  CHECK(us("b") == 20);
  CHECK(costs.devices[0].nodes.at("b").method == CostMethod::Profile);
  CHECK(us("a") == 0);
  CHECK(costs.devices[0].launch_us == 10);
  costs = measured_costs(plan, {{30, {{b, 20}}, 2}}, 0.5);  // medians do not add up, what each run left of itself does
  CHECK(us("b") == 20);
  CHECK(costs.devices[0].launch_us == 2.5);
  costs = measured_costs(plan, {{30, {{b, 40}}}}, 0.5);  // more than the whole: nothing is left
  CHECK(costs.devices[0].launch_us == 0.5);
  const Result<MeasuredCosts> back = parse_costs(costs_text(costs), "costs.json");
  REQUIRE(back.ok());
  t.request.costs = {*back};
  CHECK(t.plan().nodes[1].answers[1].microseconds == 40);
}
