// SPDX-License-Identifier: Apache-2.0
#include "core/report/report.hpp"

#include <doctest/doctest.h>

#include "core/placement/placement.hpp"
#include "core/plan/plan_json.hpp"
#include "core/support/json_value.hpp"
#include "tests/support/fake_plugin.hpp"

using namespace optima;
using namespace optima::test;

namespace {

// x -> a(Relu) -> b(Exp) -> c(Relu) -> y, each node wanted on NPU:0 if it can
Plan split_plan() {
  GraphBuilder g;
  g.output(g.node("c", "Relu", {g.node("b", "Exp", {g.node("a", "Relu", {g.input("x")})})}));
  FakePlugin cpu("slowcpu", {"CPU"}, {"Relu", "Exp"}), npu("fastnpu", {"NPU"}, {"Relu", "Exp"});
  npu.refuse(g.id_of("b"), OPTIMA_REASON_DTYPE, "input 0 is f32, wanted f16");
  PlacementRequest request;
  request.plugins = {&npu, &cpu};
  request.wishes.assign(g.id_of("c") + 1, Wish{{{"", "NPU", 0}, {"", "CPU", 0}}, false, "'*'"});
  Result<Plan> plan = make_plan(g.graph, request);
  REQUIRE(plan.ok());
  return *plan;
}

}  // namespace

TEST_CASE("the summary counts, and lists every node that is not where it was asked for") {
  CHECK(placement_summary(split_plan()) ==
        "placement of 'tiny': 3 nodes in 3 subgraphs (the minimum); 2 tensors cross, 32 bytes\n"
        "  device  plugin   nodes  subgraphs\n"
        "  NPU:0   fastnpu      2          2  the only plugin for NPU\n"
        "  CPU:0   slowcpu      1          1  the only plugin for CPU\n"
        "not on the device asked for:\n"
        "  'b' (Exp): asked for first of NPU:0, CPU:0; CPU:0 is the first that can of those that '*' lists; NPU:0: input 0 is f32, wanted f16\n");
}

TEST_CASE("nodes that missed their device for the same reason are counted, with three examples") {
  GraphBuilder g;
  uint32_t v = g.input("x");
  for (const char* name : {"e1", "e2", "e3", "e4", "e5"}) v = g.node(name, "Exp", {v});
  g.output(v);
  FakePlugin cpu("slowcpu", {"CPU"}, {"Exp"}), npu("fastnpu", {"NPU"}, {"Relu"});
  PlacementRequest request;
  request.plugins = {&npu, &cpu};
  request.wishes.assign(g.id_of("e5") + 1, Wish{{{"", "NPU", 0}, {"", "CPU", 0}}, false, "'*'"});
  Result<Plan> plan = make_plan(g.graph, request);
  REQUIRE(plan.ok());
  const std::string tail = " (Exp): asked for first of NPU:0, CPU:0; ", why = "CPU:0 is the first that can of those that '*' lists; NPU:0: operator Exp "
                                                                             "is not in the note of plugin fastnpu\n";
  CHECK(placement_summary(*plan).ends_with("not on the device asked for:\n  'e1', 'e2', 'e3' and 2 more" + tail + why));
  plan->nodes[4].sentence = "another";
  CHECK(placement_summary(*plan).ends_with("  'e1', 'e2', 'e3' and 2 more" + tail + "of the first: " + why));
}

TEST_CASE("explain says what a node is computed in and who said so, and a plan keeps it in its file") {
  Plan plan = split_plan();
  CHECK(explain_node(plan, "b")->find("precision") == std::string::npos);
  CHECK(to_text(plan_to_json(plan)).find("precision") == std::string::npos);
  plan.nodes[1].precision = "f32", plan.nodes[1].precision_why = "Exp stays float";
  const Result<Plan> read = plan_from_json(plan_to_json(plan), "plan.json");
  REQUIRE(read.ok());
  CHECK(read->nodes[0].precision.empty());
  CHECK(explain_node(*read, "b")->find("(preferred)\nprecision: f32 (Exp stays float)\n") != std::string::npos);
}

TEST_CASE("explain shows one node with every device's answer on one screen") {
  const Result<std::string> text = explain_node(split_plan(), "b");
  REQUIRE(text.ok());
  CHECK(*text ==
        "node 'b' (Exp) runs on CPU:0, subgraph 1 of 3\n"
        "why: CPU:0 is the first that can of those that '*' lists; NPU:0: input 0 is f32, wanted f16 (preferred)\n"
        "asked for: first of NPU:0, CPU:0\n"
        "plugin: slowcpu, the only plugin for CPU\n"
        "devices:\n"
        "  NPU:0  fastnpu  no    DTYPE: input 0 is f32, wanted f16\n"
        "  CPU:0  slowcpu  here\n"
        "reads:\n"
        "  'a_out'  f32[4]  16 bytes  crosses from 'a' (Relu, subgraph 0 on NPU:0)\n"
        "writes:\n"
        "  'b_out'  f32[4]  16 bytes  crosses to 'c' (Relu, subgraph 2 on NPU:0)\n"
        "subgraph 1 on CPU:0: 1 node; reads a_out; writes b_out\n"
        "tensors that cross:\n"
        "  'a_out', 16 bytes, from subgraph 0\n"
        "  'b_out', 16 bytes, to subgraph 2\n");
}

TEST_CASE("explaining the plan shows every subgraph and node") {
  const std::string text = explain_plan(split_plan());
  CHECK(text.find("subgraph 0 on NPU:0: 1 node; reads x; writes a_out\n  'a'  Relu  NPU:0 is the first that can of those that '*' lists\n") != std::string::npos);
  CHECK(text.find("subgraph 2 on NPU:0: 1 node; reads b_out; writes c_out\n") != std::string::npos);
}

TEST_CASE("a node the plan does not have is an error with the nearest names") {
  const Result<std::string> text = explain_node(split_plan(), "bb");
  CHECK(text.status().kind() == StatusKind::InvalidInput);
  CHECK(text.status().message() == "no node 'bb' in the plan of 'tiny' (nearest: 'b')");
}

TEST_CASE("a plan without nodes is told as such") {
  Plan plan;
  plan.model_name = "empty";
  plan.exact = true;
  CHECK(placement_summary(plan) == "placement of 'empty': 0 nodes in 0 subgraphs\n  device  plugin  nodes  subgraphs\n");
}

TEST_CASE("what is not the minimum shows the proven bound, and unknown sizes are counted") {
  Plan plan = split_plan();
  plan.exact = false;
  plan.lower_bound = 2;
  plan.cuts[0].bytes = 0;
  CHECK(placement_summary(plan).starts_with("placement of 'tiny': 3 nodes in 3 subgraphs (proven minimum 2); 2 tensors cross, 32 bytes and 1 of unknown size\n"));
}

TEST_CASE("control bytes of a foreign plan do not reach the terminal") {
  Plan plan = split_plan();
  plan.nodes[1].sentence = "\x1b[31mred\n";
  plan.nodes[1].name = "\x1b]0;b";
  plan.notes = {"\x07"};
  const std::string text = explain_plan(plan) + *explain_node(plan, "\x1b]0;b");
  for (char c : text) CHECK((c == '\n' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7F)));
}
