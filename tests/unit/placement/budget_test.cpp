// SPDX-License-Identifier: Apache-2.0
// Limits on the number of subgraphs count over the main graph and the bodies that the host drives together.
#include <doctest/doctest.h>

#include "core/plan/validate.hpp"
#include "tests/unit/placement/placing.hpp"

using namespace optima;
using namespace optima::test;

namespace {

// c, x -> a(Relu) -> if_1 (then: Relu, Exp, Relu; else: Relu), which the host drives -> y
struct Branched : Setup {
  Branched() {
    const uint32_t c = input("c"), a = node("a", "Relu", {input("x")});
    const uint32_t y = node("if_1", "If", {c});
    fill("then_branch", {"Relu", "Exp", "Relu"}, a);
    fill("else_branch", {"Relu"}, a);
    output(y);
    std::erase_if(cpu.manifest_.operators, [](const OperatorRow& row) { return row.op == "If"; });
    candidates({"NPU:0", "CPU:0"});
  }
  void fill(const std::string& branch, const std::vector<std::string>& ops, uint32_t captured) {
    const uint32_t body = this->body(branch, {captured});
    uint32_t v = 0;
    for (size_t i = 0; i < ops.size(); ++i) v = node("if_1/" + branch + "/" + std::to_string(i), ops[i], {v}, body);
    graph.contents.graphs[body].outputs.push_back(v);
  }
  void pin_all_relus() {
    for (const char* name : {"a", "if_1/then_branch/0", "if_1/then_branch/2", "if_1/else_branch/0"}) wish(name, {"NPU:0"});
  }
};

uint32_t on(const Plan& plan, const std::string& device) {
  uint32_t count = 0;
  for_each_plan(plan, [&](const Plan& part, const std::string&) {
    for (const Subgraph& s : part.subgraphs) count += part.devices[s.device].name == device;
  });
  return count;
}

}  // namespace

TEST_CASE("--max-subgraphs counts over bodies; an error says what each graph needs") {
  Branched s;
  s.pin_all_relus();
  s.request.max_subgraphs = 6;
  const Plan plan = s.plan();
  CHECK(count_subgraphs(plan) == 6);
  CHECK(plan.max_subgraphs == 2);
  CHECK(plan.bodies[0].plan.max_subgraphs == 3);
  s.request.max_subgraphs = 5;  // each graph alone has fewer
  CHECK(s.error(StatusKind::Placement) ==
        "--max-subgraphs 5, but the model with its bodies needs at least 6: the main graph 2, body 'if_1/then_branch' 3, body 'if_1/else_branch' 1");
  s.request.max_subgraphs = 8;
  CHECK(s.plan().max_subgraphs == 4);  // two are left over
}

TEST_CASE("the fastest plan gives up subgraphs where there are too many in all") {
  Branched s;
  for (FakePlugin* plugin : {&s.npu, &s.cpu}) plugin->manifest_.operators = {FakePlugin::row("Relu"), FakePlugin::row("Exp")};
  MeasuredDevice npu{*parse_device("NPU:0"), 0, {}}, cpu{*parse_device("CPU:0"), 0, {}};
  for (const image::Graph& g : s.graph.contents.graphs)
    for (const image::Node& node : g.nodes) {
      npu.nodes[node.name] = {node.op_type == "Relu" ? 1.0 : 9.0, CostMethod::Given};
      cpu.nodes[node.name] = {node.op_type == "Relu" ? 9.0 : 1.0, CostMethod::Given};
    }
  s.request.objective = Objective::Latency;
  s.request.costs = {{"tiny", s.graph.model_hash, {npu, cpu}}};
  CHECK(count_subgraphs(s.plan()) == 6);
  s.request.max_subgraphs = 4;
  s.npu.checks = s.cpu.checks = 0;
  const Plan fewer = s.plan();
  CHECK(s.npu.checks == 3);  // the main graph and two bodies, however many rounds it took
  CHECK(s.cpu.checks == 3);
  CHECK(count_subgraphs(fewer) == 4);
  CHECK(devices_of(fewer.bodies[0].plan) == "NPU:0 NPU:0 NPU:0 ");
  CHECK(validate(fewer, s.graph, s.request).ok());
  s.request.max_subgraphs = 3;
  CHECK(s.error(StatusKind::Placement).starts_with("--max-subgraphs 3, but "));
}

TEST_CASE("a plugin's most subgraphs are those of the whole model") {
  Branched s;
  CHECK(on(s.plan(), "NPU:0") == 2);  // a, else, and not the branch that the CPU takes whole
  s.npu.manifest_.limits.max_subgraphs = 1;
  const Plan one = s.plan();
  CHECK(on(one, "NPU:0") == 1);
  CHECK(validate(one, s.graph, s.request).ok());
  bool told = false;
  for_each_plan(one, [&](const Plan& part, const std::string&) {
    for (const PlacedNode& node : part.nodes)
      told |= node.answers[0].text == "plugin 'fastnpu' takes at most 1 subgraph of a model, which other graphs of it have";
  });
  CHECK(told);
  s.pin_all_relus();
  CHECK(s.error(StatusKind::Placement).starts_with("node 'if_1', which the host drives"));  // one body alone needs two
  s.npu.manifest_.limits.max_subgraphs = 3;
  CHECK(s.error(StatusKind::Placement) ==
        "plugin 'fastnpu' takes at most 3 subgraphs, but the best plan found of the model with its bodies has 4 on its devices: the main graph 1, "
        "body 'if_1/then_branch' 2, body 'if_1/else_branch' 1");
}

TEST_CASE("validate() counts over bodies too") {
  Branched s;
  s.pin_all_relus();
  const Plan plan = s.plan();
  s.request.max_subgraphs = 5;
  CHECK(validate(plan, s.graph, s.request).message() == "plan is not valid: it has 6 subgraphs with those of its bodies, wanted at most 5");
  s.request.max_subgraphs = 0;
  s.npu.manifest_.limits.max_subgraphs = 3;
  CHECK(validate(plan, s.graph, s.request).message() ==
        "plan is not valid: it has 4 subgraphs of plugin 'fastnpu' with those of its bodies, wanted at most 3");
}
