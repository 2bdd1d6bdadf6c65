// SPDX-License-Identifier: Apache-2.0
#include "core/report/what_if.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "core/placement/placement.hpp"
#include "core/plan/plan_json.hpp"
#include "core/report/report.hpp"
#include "tests/support/fake_plugin.hpp"

using namespace optima;
using namespace optima::test;

namespace {

// x -> Relu -> Pad -> Relu -> Pad -> Relu -> Exp -> Relu -> y; the CPU takes Pad and Exp only, so each costs two subgraphs.
struct Net {
  GraphBuilder g;
  FakePlugin cpu{"slowcpu", {"CPU"}, {"Pad", "Exp"}}, npu{"fastnpu", {"NPU"}, {"Relu", "Pad", "Exp"}};
  PlacementRequest request;

  Net() {
    uint32_t v = g.input("x");
    int number = 0;
    for (const char* op : {"Relu", "Pad", "Relu", "Pad", "Relu", "Exp", "Relu"}) v = g.node(std::string(op) + "_" + std::to_string(number++), op, {v});
    g.output(v);
    for (const char* pad : {"Pad_1", "Pad_3"}) npu.refuse(g.id_of(pad), OPTIMA_REASON_ATTRIBUTE, "mode is reflect, wanted constant");
    npu.refuse(g.id_of("Exp_5"), OPTIMA_REASON_DTYPE, "input 0 is f32, wanted f16");
    request.plugins = {&npu, &cpu};
    request.candidates = {*parse_device("NPU:0"), *parse_device("CPU:0")};
  }
  // The NPU takes 1 us for a node and 10 to start; a tensor from one device to the other takes 2 us.
  void time(std::map<std::string, double> npu_also = {}) {
    request.objective = Objective::Latency;
    const DeviceName on_npu = *parse_device("NPU:0"), on_cpu = *parse_device("CPU:0");
    MeasuredDevice fast{on_npu, 10, {}}, slow{on_cpu, 1, {}};
    for (const image::Node& node : g.graph.main().nodes) {
      if (node.op_type == "Relu") fast.nodes[node.name] = {1, CostMethod::Profile};
      else slow.nodes[node.name] = {5, CostMethod::Given};
    }
    for (const auto& [name, us] : npu_also) fast.nodes[name] = {us, CostMethod::Given};
    request.costs = {{"tiny", g.graph.model_hash, {fast, slow}}};
    request.links = {{on_npu, on_cpu, 2, 0}, {on_cpu, on_npu, 2, 0}};
  }
  Plan plan() {
    Result<Plan> made = make_plan(g.graph, request);
    INFO(made.status().message());
    REQUIRE(made.ok());
    return *made;
  }
};

WhatIf case_of(const WhatIfReport& report, const std::string& device, const std::string& op) {
  for (const WhatIf& c : report.cases)
    if (c.device == device && c.op == op) return c;
  FAIL("no case of " << device << " and " << op);
  return report.cases[0];
}

WhatIfReport report_of(const Plan& plan, const CostSources& given = {}) {
  const Result<WhatIfReport> report = what_if(plan, given);
  INFO(report.status().message());
  REQUIRE(report.ok());
  return *report;
}

}  // namespace

TEST_CASE("what-if ranks refusals by the subgraphs that taking them would save") {
  Net net;
  const Plan plan = net.plan();
  const Result<WhatIfReport> report = what_if(plan);
  REQUIRE(report.ok());
  CHECK(what_if_text(plan, *report) ==
        "what if: 'tiny' is 7 subgraphs and 96 bytes crossing\n"
        "  if     took            because of  nodes  subgraphs  crossing              first of them\n"
        "  NPU:0  all it refuses                  3  7 -> 1     96 bytes -> 0 bytes\n"
        "  CPU:0  Relu            OP              4  7 -> 1     96 bytes -> 0 bytes   'Relu_0': operator Relu is not in the note of plugin slowcpu\n"
        "  NPU:0  Pad             ATTRIBUTE       2  7 -> 3     96 bytes -> 32 bytes  'Pad_1': mode is reflect, wanted constant\n"
        "  NPU:0  Exp             DTYPE           1  7 -> 5     96 bytes -> 64 bytes  'Exp_5': input 0 is f32, wanted f16\n");
}

TEST_CASE("what-if says what really happens when the plugin is changed so") {
  Net before, after;
  after.npu.verdicts.erase(after.g.id_of("Exp_5"));
  const Plan changed = after.plan();
  const Result<WhatIfReport> report = what_if(before.plan());
  REQUIRE(report.ok());
  bool found = false;
  for (const WhatIf& c : report->cases)
    if (c.device == "NPU:0" && c.op == "Exp") {
      found = true;
      CHECK(c.subgraphs == changed.subgraphs.size());
      CHECK(c.bytes == changed.bytes);
    }
  CHECK(found);
}

TEST_CASE("asking again without a change gives the plan's own numbers, with pins, lists and groups") {
  Net net;
  net.request.wishes.resize(net.g.id_of("Relu_6") + 1);
  net.request.wishes[net.g.id_of("Pad_1")] = Wish{{{"", "CPU", 0}}, true, "'Pad_1'"};
  net.request.wishes[net.g.id_of("Exp_5")] = Wish{{{"", "NPU", 0}, {"", "CPU", 0}}, false, "'Exp_5'"};
  net.npu.group(1, {net.g.id_of("Exp_5"), net.g.id_of("Relu_6")});
  const Plan plan = net.plan();
  const Result<WhatIfReport> report = what_if(plan);
  REQUIRE(report.ok());
  CHECK(report->subgraphs == plan.subgraphs.size());
  CHECK(report->bytes == plan.bytes);
}

TEST_CASE("explain says what moving a node would do to the number of subgraphs") {
  Net net;
  net.npu.verdicts.erase(net.g.id_of("Exp_5"));
  const Result<std::string> text = explain_node(net.plan(), "Exp_5");
  REQUIRE(text.ok());
  CHECK(text->find("  CPU:0  slowcpu  yes   2 subgraphs more there\n") != std::string::npos);
}

namespace {

// x -> Quantize -> (Dequantize -> Conv -> Relu -> Quantize) x 6 -> Dequantize -> y; the NPU refuses what `refused` says.
struct QuantizedNet {
  GraphBuilder g;
  FakePlugin cpu{"slowcpu", {"CPU"}, kOps}, npu{"fastnpu", {"NPU"}, kOps};
  PlacementRequest request;
  static inline const std::vector<std::string> kOps = {"QuantizeLinear", "DequantizeLinear", "Conv", "Relu"};

  // `shared`: one DequantizeLinear more, which two Conv read.
  explicit QuantizedNet(const std::vector<std::string>& refused, bool shared = false) {
    const uint32_t scale = g.constant("scale"), zero = g.constant("zero");
    const auto quantize = [&](const std::string& name, uint32_t v) {
      const uint32_t out = g.node(name, "QuantizeLinear", {v, scale, zero});
      g.graph.main().values[out].dtype = OPTIMA_I8;
      return out;
    };
    uint32_t v = quantize("q", g.input("x"));
    for (const char* i : {"0", "1", "2", "3", "4", "5"}) {
      const std::string n = i;
      v = g.node("conv" + n, "Conv", {g.node("dq" + n, "DequantizeLinear", {v, scale, zero})});
      v = quantize("q" + n, g.node("relu" + n, "Relu", {v}));
    }
    g.output(g.node("dq", "DequantizeLinear", {v, scale, zero}));
    if (shared) {
      const uint32_t both = g.node("shared", "DequantizeLinear", {v, scale, zero});
      for (const char* name : {"left", "right"}) g.output(quantize(std::string("q_") + name, g.node(name, "Conv", {both})));
    }
    for (const std::string& name : refused) npu.refuse(g.id_of(name), OPTIMA_REASON_ATTRIBUTE, "no");
    request.plugins = {&npu, &cpu};
    request.candidates = {*parse_device("NPU:0"), *parse_device("CPU:0")};
  }
  // `nodes` empty: all.
  void wish(const std::string& nodes, const std::vector<std::string>& devices, uint32_t rank) {
    for (const image::Node& node : g.graph.main().nodes) {
      if (!node.name.starts_with(nodes)) continue;
      if (request.wishes.size() <= node.id) request.wishes.resize(node.id + 1);
      Wish wish;
      for (const std::string& device : devices) wish.devices.push_back(*parse_device(device));
      wish.hard = devices.size() == 1;
      wish.source = "'" + nodes + "*'";
      wish.rank = rank;
      request.wishes[node.id] = wish;
    }
  }
};

}  // namespace

TEST_CASE("what-if tells the truth of quantized units, with lists, pins and wishes of parts of a unit") {
  const std::vector<std::function<void(QuantizedNet&)>> wishes = {
      [](QuantizedNet&) {},
      [](QuantizedNet& n) { n.wish("", {"NPU:0", "CPU:0"}, Wish::kEveryRank); },
      [](QuantizedNet& n) { n.wish("", {"CPU:0", "NPU:0"}, Wish::kEveryRank); },
      [](QuantizedNet& n) { n.wish("conv", {"NPU:0", "CPU:0"}, Wish::kOpRank); },
      [](QuantizedNet& n) { n.wish("relu", {"NPU:0", "CPU:0"}, Wish::kOpRank); },
      [](QuantizedNet& n) { n.wish("", {"NPU:0", "CPU:0"}, Wish::kEveryRank), n.wish("dq2", {"CPU:0"}, Wish::kNodeRank); },
      [](QuantizedNet& n) { n.wish("", {"CPU:0"}, Wish::kEveryRank), n.wish("conv", {"NPU:0", "CPU:0"}, Wish::kOpRank); },
  };
  const std::vector<std::vector<std::string>> refusals = {{"conv1", "conv3", "conv5"}, {"relu1", "conv4"}, {"dq3"}, {"q0", "q2", "conv2"}, {"q", "dq"}};
  for (size_t w = 0; w < wishes.size(); ++w)
    for (const std::vector<std::string>& refused : refusals) {
      CAPTURE(w);
      CAPTURE(refused[0]);
      QuantizedNet before(refused), after({});
      wishes[w](before);
      wishes[w](after);
      const Result<Plan> plan = make_plan(before.g.graph, before.request), truth = make_plan(after.g.graph, after.request);
      REQUIRE(plan.ok());
      REQUIRE(truth.ok());
      const WhatIfReport report = report_of(*plan);
      CHECK(report.subgraphs == plan->subgraphs.size());
      CHECK(report.bytes == plan->bytes);
      WhatIf all;  // that it refuses and that may go there; nothing where pins keep all of it away
      all.subgraphs = report.subgraphs, all.bytes = report.bytes;
      for (const WhatIf& c : report.cases)
        if (c.device == "NPU:0" && c.nodes > all.nodes) all = c;
      CHECK(all.subgraphs == truth->subgraphs.size());
      CHECK(all.bytes == truth->bytes);
      CHECK((all.nodes == refused.size() || w >= 5));
    }
}

TEST_CASE("a plan that does not keep its question cannot be asked what if, and says what to do") {
  Net net;
  Plan plan = net.plan();
  plan.question.reset();
  const Status status = what_if(plan).status();
  CHECK(status.kind() == StatusKind::InvalidInput);
  CHECK(status.message() ==
        "the plan of 'tiny' does not keep its question, it was written by an older version; write it again with 'plan -o'");
  CHECK(explain_node(plan, "Exp_5").ok());
}

TEST_CASE("a plan whose question does not fit it cannot be asked what if") {
  Net net;
  Plan plan = net.plan();
  plan.question->unit_of.pop_back();
  const Status status = what_if(plan).status();
  CHECK(status.kind() == StatusKind::InvalidInput);
  CHECK(status.message() == "the plan of 'tiny' does not fit its question: units: found 6, wanted one for each of 7 nodes");
}

TEST_CASE("a node that several quantized units run is taken for all of them") {
  QuantizedNet before({}, true), after({}, true);
  for (QuantizedNet* net : {&before, &after}) net->wish("", {"NPU:0", "CPU:0"}, Wish::kEveryRank);
  before.npu.refuse(before.g.id_of("shared"), OPTIMA_REASON_ATTRIBUTE, "no");
  const Result<Plan> plan = make_plan(before.g.graph, before.request), truth = make_plan(after.g.graph, after.request);
  REQUIRE(plan.ok());
  REQUIRE(truth.ok());
  REQUIRE(plan->question->copies.size() == 1);
  REQUIRE(truth->subgraphs.size() == 1);
  CHECK(plan->subgraphs.size() > 1);
  CHECK(case_of(report_of(*plan), "NPU:0", "DequantizeLinear").subgraphs == 1);
}

TEST_CASE("a device that was left out for want of costs stays out of what would be, which is by time") {
  Net net;
  net.request.candidates.clear();
  net.npu.present = {{"NPU", "npu", "", "", "", 0, {}}};
  net.cpu.present = {{"CPU", "cpu", "", "", "", 0, {}}};
  net.cpu.manifest_.operators.push_back(FakePlugin::row("Relu"));
  net.npu.verdicts.erase(net.g.id_of("Exp_5"));
  net.request.objective = Objective::Latency;
  net.request.settings = {{*parse_device("CPU:0"), {}, 0, 10, 1, 0}};
  const Plan plan = net.plan();
  CHECK(plan.subgraphs.size() == 1);
  const WhatIfReport report = report_of(plan);
  CHECK(report.by_time);
  CHECK(*report.microseconds == doctest::Approx(plan.estimate->total()));
  CHECK(report.cases.empty());  // of the NPU nothing is known that it could take
}

TEST_CASE("with the objective latency the time saved is told, from the costs of the plan, and is what the changed plugin really gives") {
  Net before, after;
  for (Net* net : {&before, &after}) net->time({{"Exp_5", 1}});
  after.npu.verdicts.erase(after.g.id_of("Exp_5"));
  const Plan plan = before.plan(), changed = after.plan();
  REQUIRE(plan.estimate);
  const Result<Plan> read = plan_from_json(plan_to_json(plan), "plan.json");  // launches and links are in the file
  REQUIRE(read.ok());
  CostSources given;
  given.costs = before.request.costs;
  const WhatIfReport report = report_of(*read, given);
  CHECK(report.by_time);
  CHECK(*report.microseconds == doctest::Approx(plan.estimate->total()));
  const WhatIf& c = case_of(report, "NPU:0", "Exp");
  REQUIRE(c.microseconds);
  CHECK(*c.microseconds == doctest::Approx(changed.estimate->total()));
  CHECK(c.subgraphs == changed.subgraphs.size());
  CHECK(c.cost_source == "given");
  const std::string text = what_if_text(plan, report);
  CAPTURE(text);
  CHECK(text.find("7 subgraphs and 96 bytes crossing, estimated 74.0 us a run") != std::string::npos);
  const Json json = what_if_json(plan, report);
  CHECK(json["microseconds"] == 74);
  for (const Json& one : json["cases"]) CHECK(one["saved_microseconds"] >= 0);
}

TEST_CASE("the order of stateful nodes costs nothing in the plan that would be") {
  GraphBuilder g;  // two generators, which run in this order, on different devices; then Exp, which the NPU refuses
  FakePlugin cpu("slowcpu", {"CPU"}, {"RandomNormalLike", "Exp"}), npu("fastnpu", {"NPU"}, {"RandomNormalLike"});
  const uint32_t x = g.input("x");
  g.output(g.node("a", "RandomNormalLike", {x}));
  g.output(g.node("b", "RandomNormalLike", {x}));
  g.output(g.node("c", "Exp", {x}));
  PlacementRequest request;
  request.plugins = {&npu, &cpu};
  const DeviceName on_npu = *parse_device("NPU:0"), on_cpu = *parse_device("CPU:0");
  request.candidates = {on_npu, on_cpu};
  request.wishes.resize(g.id_of("c") + 1);
  request.wishes[g.id_of("a")] = Wish{{on_npu}, true, "'a'"};
  request.wishes[g.id_of("b")] = Wish{{on_cpu}, true, "'b'"};
  request.objective = Objective::Latency;
  request.settings = {{on_npu, {}, 0, 10, 1, 0}, {on_cpu, {}, 0, 1, 1, 0}};
  request.links = {{on_npu, on_cpu, 1000, 0}, {on_cpu, on_npu, 1000, 0}};
  const Result<Plan> plan = make_plan(g.graph, request);
  INFO(plan.status().message());
  REQUIRE(plan.ok());
  CHECK(plan->nodes[1].after == 0);
  const WhatIfReport report = report_of(*plan);
  CHECK(*report.microseconds == doctest::Approx(plan->estimate->total()));
  CHECK(*report.microseconds < 100);
}

TEST_CASE("a refused node without a cost gets the roofline model's, scaled to what is known of the device, and the source is told") {
  Net net;
  net.time();
  const WhatIfReport report = report_of(net.plan());
  const WhatIf& c = case_of(report, "NPU:0", "Exp");
  CHECK(c.cost_source == "scaled");
  CHECK(*c.microseconds < *report.microseconds);
  CHECK(report.cases[0].microseconds <= report.cases[1].microseconds);
}

TEST_CASE("a plan for the fewest subgraphs has times when costs are given, and says that they are not known where they are not") {
  Net net;
  const Plan plan = net.plan();
  CHECK_FALSE(report_of(plan).microseconds);
  CHECK(what_if_text(plan, report_of(plan)).find("time") == std::string::npos);
  net.time();
  CostSources given;
  given.costs = net.request.costs, given.links = net.request.links;
  const WhatIfReport report = report_of(plan, given);
  CHECK(*report.microseconds == doctest::Approx(4 * 11 + 3 * 6 + 6 * 2));
  CHECK_FALSE(report.by_time);
  CHECK(report.subgraphs == 7);
  CHECK(case_of(report, "NPU:0", "Pad").cost_source == "scaled");
  given.costs[0].devices[1].nodes.erase("Exp_5");  // the CPU's other times tell
  CHECK(report_of(plan, given).microseconds);
  given.costs[0].devices.pop_back();
  CHECK_FALSE(report_of(plan, given).microseconds);
}

TEST_CASE("limits hold in the plan that would be") {
  for (const Objective objective : {Objective::Parts, Objective::Latency}) {
    Net before, after;
    for (Net* net : {&before, &after}) {
      if (objective == Objective::Latency) net->time({{"Exp_5", 1}, {"Pad_1", 1}, {"Pad_3", 1}});
      net->npu.manifest_.limits.max_nodes = 2;
      net->request.objective = objective;
    }
    after.npu.verdicts.clear();
    const Plan changed = after.plan();
    CHECK(changed.subgraphs.size() == 4);
    CostSources given;
    given.costs = before.request.costs;
    const Result<Plan> read = plan_from_json(plan_to_json(before.plan()), "plan.json");
    REQUIRE(read.ok());
    const WhatIf& c = case_of(report_of(*read, given), "NPU:0", "");
    CHECK(c.subgraphs == 4);
    CHECK(c.bytes == changed.bytes);
    if (changed.estimate) CHECK(*c.microseconds == doctest::Approx(changed.estimate->total()));
  }
}

TEST_CASE("memory counts in the plan that would be, by what its nodes hold") {
  Net before, after;
  for (Net* net : {&before, &after}) net->npu.manifest_.limits.memory = 40;  // a value is 16 bytes
  after.npu.verdicts.clear();
  CHECK(case_of(report_of(before.plan()), "NPU:0", "").subgraphs == after.plan().subgraphs.size());
  CHECK(after.plan().subgraphs.size() > 1);
}

namespace {

// x -> Relu -> If (then: Relu, Exp, Relu; else: Relu) -> y on the NPU, which refuses Exp and If; nobody takes If.
struct Branched : GraphBuilder {
  FakePlugin cpu{"slowcpu", {"CPU"}, {"Exp"}}, npu{"fastnpu", {"NPU"}, {"Relu", "Exp"}};
  PlacementRequest request;
  Branched() {
    const uint32_t c = input("c"), a = node("a", "Relu", {input("x")});
    const uint32_t y = node("if_1", "If", {c});
    fill("then_branch", {"Relu", "Exp", "Relu"}, a);
    fill("else_branch", {"Relu"}, a);
    output(y);
    npu.refuse(id_of("if_1/then_branch/1"), OPTIMA_REASON_DTYPE, "input 0 is f32, wanted f16");
    request.plugins = {&npu, &cpu};
    request.candidates = {*parse_device("NPU:0"), *parse_device("CPU:0")};
  }
  void fill(const std::string& branch, const std::vector<std::string>& ops, uint32_t captured) {
    const uint32_t body = this->body(branch, {captured});
    uint32_t v = 0;
    for (size_t i = 0; i < ops.size(); ++i) v = node("if_1/" + branch + "/" + std::to_string(i), ops[i], {v}, body);
    graph.contents.graphs[body].outputs.push_back(v);
  }
};

}  // namespace

TEST_CASE("refusals inside bodies count, and a node taken whole needs no bodies") {
  Branched net;
  const Result<Plan> plan = make_plan(net.graph, net.request);
  INFO(plan.status().message());
  REQUIRE(plan.ok());
  REQUIRE(count_subgraphs(*plan) == 6);  // a, if_1, three of the one branch, one of the other
  const WhatIfReport report = report_of(*plan);
  CHECK(report.subgraphs == 6);
  const WhatIf& exp = case_of(report, "NPU:0", "Exp");
  CHECK(exp.subgraphs == 4);
  CHECK(exp.example == "if_1/then_branch/1");
  CHECK(case_of(report, "NPU:0", "If").subgraphs == 1);
  CHECK(case_of(report, "CPU:0", "Relu").nodes == 4);
}

TEST_CASE("the time of a plan with bodies counts the dearer branch") {
  Branched net;
  net.request.objective = Objective::Latency;
  net.request.settings = {{*parse_device("NPU:0"), {}, 0, 10, 1, 0}, {*parse_device("CPU:0"), {}, 0, 1, 1, 0}};
  const Result<Plan> plan = make_plan(net.graph, net.request);
  INFO(plan.status().message());
  REQUIRE(plan.ok());
  const WhatIfReport report = report_of(*plan);
  REQUIRE(report.microseconds);
  const double body = plan->bodies[0].plan.estimate->total();
  CHECK(body > plan->bodies[1].plan.estimate->total());
  CHECK(*report.microseconds == doctest::Approx(10.004 + body));  // Relu of 4 elements at 1 GFLOP/s
  CHECK(*report.microseconds == doctest::Approx(plan->estimate->total()));
  CHECK(*case_of(report, "NPU:0", "Exp").microseconds < *report.microseconds);
}
