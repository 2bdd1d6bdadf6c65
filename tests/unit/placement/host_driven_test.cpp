// SPDX-License-Identifier: Apache-2.0
// Nodes that the host drives, and the plans of their bodies.
#include <nlohmann/json.hpp>

#include "core/placement/measured.hpp"
#include "core/plan/plan_json.hpp"
#include "core/plan/validate.hpp"
#include "core/report/report.hpp"
#include "tests/unit/placement/placing.hpp"

using namespace optima;
using namespace optima::test;

namespace {

// c, x -> if_1 (then: Relu, else: Exp of x) -> y -> last (Relu); nobody takes If whole unless `whole`.
struct Branch : Setup {
  explicit Branch(bool whole = false) {
    const uint32_t c = input("c"), x = input("x");
    const uint32_t y = node("if_1", "If", {c});
    fill("then_branch", "if_1/then/relu", "Relu", x);
    fill("else_branch", "if_1/else/exp", "Exp", x);
    output(node("last", "Relu", {y}));
    if (!whole) std::erase_if(cpu.manifest_.operators, [](const OperatorRow& row) { return row.op == "If"; });
    candidates({"NPU:0", "CPU:0"});
  }
  void fill(const std::string& branch, const std::string& name, const std::string& op, uint32_t captured) {
    const uint32_t body = this->body(branch, {captured});
    const uint32_t out = node(name, op, {0}, body);
    graph.contents.graphs[body].outputs.push_back(out);
  }
};

std::string sentence(const Plan& plan, size_t node) { return plan.nodes[node].sentence; }

}  // namespace

TEST_CASE("what nobody takes whole the host drives, and each body has its own plan") {
  Branch s;
  const Plan plan = s.plan();
  CHECK(devices_of(plan) == "host NPU:0 ");
  CHECK(plan.nodes[0].why == Why::HostDriven);
  CHECK(sentence(plan, 0).starts_with("the host drives it: nobody takes it whole; NPU:0: operator If is not in the note"));
  CHECK(plan.subgraphs.size() == 2);
  CHECK(plan.exact);
  CHECK(plan.subgraphs[0].input_names == std::vector<std::string>{"c", "x"});
  REQUIRE(plan.bodies.size() == 2);
  CHECK(plan.bodies[0].name == "then_branch");
  CHECK(devices_of(plan.bodies[0].plan) == "NPU:0 ");
  CHECK(devices_of(plan.bodies[1].plan) == "CPU:0 ");
  CHECK(sentence(plan.bodies[1].plan, 0).starts_with("only CPU:0 of the candidates takes it"));
  CHECK(plan.bodies[0].plan.first == 2);
  CHECK(plan.bodies[1].plan.first == 3);
  CHECK(count_subgraphs(plan) == 4);
  CHECK(plan.nodes[1].answers.back().text == "runs nothing but If, Loop and Scan");
}

TEST_CASE("a device that takes it whole gets it whole, unless its nodes are told apart or it is given to the host") {
  Branch s(true);
  CHECK(devices_of(s.plan()) == "CPU:0 CPU:0 ");
  s.wish("if_1/then/relu", {"CPU:0"});
  CHECK(s.plan().bodies.empty());
  s.wish("if_1/then/relu", {"NPU:0"});
  s.request.wishes[s.id_of("if_1/then/relu")].devices.erase(s.request.wishes[s.id_of("if_1/then/relu")].devices.begin());
  s.wish("if_1/else/exp", {"CPU:0"});
  const Plan apart = s.plan();
  CHECK(apart.nodes[0].why == Why::HostDriven);
  CHECK(sentence(apart, 0) == "the host drives it: its nodes are told apart: 'if_1/then/relu' is asked to run on NPU:0, 'if_1/else/exp' is asked to run on CPU:0");
  CHECK(apart.bodies[0].plan.nodes[0].why == Why::Pinned);

  Branch given(true);
  given.request.wishes.resize(given.id_of("last") + 1);
  Wish& wish = given.request.wishes[given.id_of("if_1")];
  wish.host = true;
  wish.source = "'if_1'";
  const Plan plan = given.plan();
  CHECK(sentence(plan, 0) == "the host drives it: it is given to the host by 'if_1'");
  CHECK(plan.nodes[0].as_asked);
  CHECK(plan.nodes[0].answers[1].text == "excluded, the host drives it");
}

TEST_CASE("a pin on the node alone is kept or refused; one that covers its bodies is kept by them") {
  Branch s;
  s.wish("if_1", {"CPU:0"});
  CHECK(s.error(StatusKind::Placement).find("to have the host drive it and place its bodies, allocate 'if_1' to \"host\"") != std::string::npos);
  s.wish("if_1/then/relu", {"CPU:0"});
  s.wish("if_1/else/exp", {"CPU:0"});
  const Plan plan = s.plan();
  CHECK(devices_of(plan) == "host NPU:0 ");
  CHECK_FALSE(plan.nodes[0].as_asked);
  CHECK(plan.nodes[0].asked == "CPU:0");
  CHECK(devices_of(plan.bodies[0].plan) == "CPU:0 ");
}

TEST_CASE("--require-device wants control flow whole") {
  Branch s;
  s.request.require_device = *parse_device("CPU:0");
  CHECK(s.error(StatusKind::Placement).starts_with("--require-device CPU:0: 1 of 2 nodes cannot run there: 'if_1' (If): operator If is not in the note"));
}

TEST_CASE("a node of a body that nobody takes is an error that says how it came there") {
  Branch s;
  std::erase_if(s.cpu.manifest_.operators, [](const OperatorRow& row) { return row.op == "Exp"; });
  const std::string message = s.error(StatusKind::Placement);
  CHECK(message.starts_with("node 'if_1', which the host drives (nobody takes it whole; "));
  CHECK(message.find("no candidate device takes node 'if_1/else/exp' (Exp, f32[4] -> f32[4])") != std::string::npos);
}

TEST_CASE("only control flow can be given to the host") {
  Chain c;
  c.candidates({"CPU:0"});
  c.request.wishes.resize(c.id_of("c") + 1);
  c.request.wishes[c.id_of("b")].host = true;
  c.request.wishes[c.id_of("b")].source = "'*'";
  CHECK(c.error(StatusKind::InvalidInput) == "node 'b' (Exp) is given to the host by '*', wanted an If, a Loop or a Scan");
}

TEST_CASE("plans with bodies survive JSON, and the allocation written back gives them again") {
  Branch s;
  const Plan plan = s.plan();
  const std::string text = to_text(plan_to_json(plan));
  const Result<Plan> back = plan_from_json(*parse_json(text, "plan.json"), "plan.json");
  REQUIRE_MESSAGE(back.ok(), back.status().message());
  CHECK(to_text(plan_to_json(*back)) == text);
  CHECK(validate(*back, s.graph, s.request).ok());
  const std::string written = allocation_of(plan, s.graph);
  CHECK(written == "{\n  \"if_1\": \"host\",\n  \"last\": \"NPU:0\",\n  \"if_1/then/relu\": \"NPU:0\",\n  \"if_1/else/exp\": \"CPU:0\"\n}\n");
  s.request.wishes = resolve(*parse_allocation(*parse_json(written, "x"), "x"), s.graph)->by_node_id;
  const Plan again = s.plan();
  CHECK(allocation_of(again, s.graph) == written);
  CHECK(again.subgraphs.size() == plan.subgraphs.size());
}

TEST_CASE("plans whose bodies are wrong are not valid") {
  Branch s;
  const Plan good = s.plan();
  const auto verdict = [&](const std::function<void(Plan&)>& spoil) {
    Plan plan = good;
    spoil(plan);
    return validate(plan, s.graph, s.request).message();
  };
  CHECK(verdict([](Plan& p) { p.bodies.pop_back(); }) == "plan is not valid: node 'if_1' has plans for its bodies then_branch, wanted then_branch, else_branch");
  CHECK(verdict([](Plan& p) { p.bodies[1].plan.first = 9; }) == "plan is not valid: subgraphs of 'else_branch' are numbered from 9, wanted 3");
  CHECK(verdict([](Plan& p) { p.bodies[1].plan.nodes[0].name = "x"; }) ==
        "body 'else_branch' of node 'if_1': plan is not valid: entry 0 is called 'x', the node 'if_1/else/exp'");
  CHECK(verdict([](Plan& p) { p.bodies[0].node = 1; }).find("wanted then_branch, else_branch") != std::string::npos);
}

TEST_CASE("bodies are planned in one order, whichever attribute of an If stands first") {
  Branch s;
  const std::string wanted = to_text(plan_to_json(s.plan()));
  auto& attrs = s.graph.main().nodes[0].attrs;
  REQUIRE(attrs[0].name == "then_branch");
  std::swap(attrs[0], attrs[1]);
  const Plan plan = s.plan();
  REQUIRE(plan.bodies.size() == 2);
  CHECK(plan.bodies[0].name == "then_branch");
  CHECK(plan.bodies[0].plan.first == 2);
  CHECK(to_text(plan_to_json(plan)) == wanted);
  Plan turned = plan;
  std::swap(turned.bodies[0], turned.bodies[1]);
  CHECK(validate(turned, s.graph, s.request).message() ==
        "plan is not valid: node 'if_1' has plans for its bodies else_branch, then_branch, wanted then_branch, else_branch");
}

TEST_CASE("reports show what the host drives and what runs inside") {
  Branch s;
  const Plan plan = s.plan();
  const std::string summary = placement_summary(plan);
  CHECK(summary.find("if_1 then_branch") != std::string::npos);
  CHECK(summary.find("in all 4 subgraphs, run 4 times (minimum 4), both branches of an If counted and unknown trips as 1\n") != std::string::npos);
  const Result<std::string> inner = explain_node(plan, "if_1/else/exp");
  REQUIRE(inner.ok());
  CHECK(inner->starts_with("node 'if_1/else/exp' (Exp) runs on CPU:0, subgraph 3 of 4, in body 'if_1/else_branch'\n"));
  const Result<std::string> holder = explain_node(plan, "if_1");
  REQUIRE(holder.ok());
  CHECK(holder->find("else_branch: 1 node in 1 subgraph from number 3\n") != std::string::npos);
}

namespace {

// Costs of every node by hand, the same on both devices.
void cost(Setup& s, const std::map<std::string, double>& microseconds) {
  s.request.objective = Objective::Latency;
  for (const char* device : {"NPU:0", "CPU:0"}) {
    MeasuredDevice measured{*parse_device(device), 0, {}};
    for (const auto& [node, us] : microseconds) measured.nodes[node] = {us, CostMethod::Given};
    s.request.costs.push_back({"tiny", s.graph.model_hash, {std::move(measured)}});
  }
}

// x -> loop_1 (body: Relu) -> y, five trips or as many as an input says.
struct Rounds : Setup {
  explicit Rounds(bool known) {
    const uint32_t x = input("x"), most = known ? value("most", 0, {}) : input("most");
    graph.main().values[most].dtype = OPTIMA_I64;
    graph.main().values[most].dims = std::vector<image::Dim>();
    if (known) {
      const int64_t five = 5;
      graph.blobs.push_back(Blob::copy(&five, sizeof five));
      graph.contents.constants.push_back({OPTIMA_I64, {}, static_cast<uint32_t>(graph.blobs.size() - 1)});
      graph.main().values[most].constant = static_cast<uint32_t>(graph.contents.constants.size() - 1);
    }
    output(node("loop_1", "Loop", {most, OPTIMA_NONE, x}));
    const uint32_t b = body("body", {});
    const uint32_t round = value("round", b, {}), go = value("go", b, {}), in = value("in", b);
    graph.contents.graphs[b].values[round].dtype = OPTIMA_I64;
    graph.contents.graphs[b].values[go].dtype = OPTIMA_BOOL;
    graph.contents.graphs[b].inputs = {round, go, in};
    const uint32_t out = node("step", "Relu", {in}, b);
    graph.contents.graphs[b].outputs = {go, out};
    candidates({"NPU:0", "CPU:0"});
  }
};

}  // namespace

TEST_CASE("what the host drives is estimated by its bodies: of an If the dearer branch") {
  Branch s;
  cost(s, {{"if_1/then/relu", 7}, {"if_1/else/exp", 11}, {"last", 2}});
  const Plan plan = s.plan();
  REQUIRE(plan.estimate);
  CHECK(plan.estimate->total() == doctest::Approx(13));
  CHECK(plan.bodies[0].plan.estimate->total() == doctest::Approx(7));
  CHECK(plan.nodes[0].answers.back().microseconds == doctest::Approx(11));
  CHECK(plan.nodes[0].answers.back().cost_source == "bodies");
  for (const std::string& note : plan.notes) CHECK(note.find("counts once") == std::string::npos);
}

TEST_CASE("the body of a Loop counts as often as it runs, once and with a note where nobody knows") {
  Rounds known(true);
  cost(known, {{"step", 3}});
  const Plan five = known.plan();
  CHECK(five.bodies[0].trips == 5);
  CHECK(five.estimate->total() == doctest::Approx(15));
  Rounds unknown(false);
  cost(unknown, {{"step", 3}});
  const Plan once = unknown.plan();
  CHECK(once.estimate->total() == doctest::Approx(3));
  bool said = false;
  for (const std::string& note : once.notes) said |= note.find("how often the bodies of 'loop_1' run is not known") != std::string::npos;
  CHECK(said);

  // Measured: 50 us over five trips, and from these the same estimate.
  const uint32_t host = 0, step = 1;
  REQUIRE(count_subgraphs(five) == 2);
  std::vector<SubgraphTime> times(2);
  times[host].whole = 60, times[step].whole = 50;
  const MeasuredCosts measured = measured_costs(five, times, 0);
  REQUIRE(measured.devices.size() == 1);
  CHECK(measured.devices[0].nodes.at("step").microseconds == doctest::Approx(10));
  known.request.costs = {measured};
  known.request.costs.push_back(measured);
  known.request.costs[1].devices[0].name = *parse_device("CPU:0");
  CHECK(known.plan().estimate->total() == doctest::Approx(50));
}
