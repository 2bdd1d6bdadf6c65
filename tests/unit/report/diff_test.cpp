// SPDX-License-Identifier: Apache-2.0
#include "core/report/diff.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "core/placement/placement.hpp"
#include "tests/support/fake_plugin.hpp"

using namespace optima;
using namespace optima::test;

namespace {

// x -> a(Relu) -> b(Exp) -> c(Relu) -> y; the NPU takes all but, when told so, b
Plan plan_of(bool npu_takes_b, const std::string& last = "c") {
  GraphBuilder g;
  g.output(g.node(last, "Relu", {g.node("b", "Exp", {g.node("a", "Relu", {g.input("x")})})}));
  FakePlugin cpu("slowcpu", {"CPU"}, {"Exp"}), npu("fastnpu", {"NPU"}, {"Relu", "Exp"});
  if (!npu_takes_b) npu.refuse(g.id_of("b"), OPTIMA_REASON_DTYPE, "input 0 is f32, wanted f16");
  PlacementRequest request;
  request.plugins = {&npu, &cpu};
  request.candidates = {*parse_device("NPU:0"), *parse_device("CPU:0")};
  Result<Plan> plan = make_plan(g.graph, request);
  REQUIRE(plan.ok());
  return *plan;
}

}  // namespace

TEST_CASE("a plan is equal to itself") {
  const Plan plan = plan_of(false);
  const PlanDiff same = diff(plan, plan);
  CHECK(same.equal());
  CHECK(diff_text(plan, plan, same) == "plans of 'tiny': equal, 3 nodes in 3 subgraphs\n");
  CHECK(diff_json(plan, plan, same)["equal"] == true);
}

TEST_CASE("a moved node is shown with both reasons, and the numbers before and after") {
  const Plan before = plan_of(false), after = plan_of(true);
  const PlanDiff found = diff(before, after);
  CHECK(found.moved == 1);
  CHECK(diff_text(before, after, found) ==
        "plans of 'tiny': 1 of 3 nodes moved; subgraphs 3 -> 1; tensors crossing 2 -> 0, 32 bytes -> 0 bytes\n"
        "  'b'  Exp  CPU:0 -> NPU:0  before: only CPU:0 of the candidates takes it; NPU:0: input 0 is f32, wanted f16; now: NPU:0 is the first that takes it\n"
        "1 node stays on its device in a subgraph of another number\n");
  const Json json = diff_json(before, after, found);
  CHECK(json["changes"][0]["name"] == "b");
  CHECK(json["changes"][0]["before"]["device"] == "slowcpu/CPU:0");
  CHECK(json["changes"][0]["after"]["why"] == "first-in-order");
  CHECK(json["after"]["subgraphs"] == 1);
}

TEST_CASE("nodes of one plan only, and other models, are differences") {
  const Plan before = plan_of(true), after = plan_of(true, "d");
  const PlanDiff found = diff(before, after);
  CHECK_FALSE(found.equal());
  CHECK(diff_text(before, after, found) == "plans of 'tiny': 0 of 3 nodes moved; subgraphs 1; tensors crossing 0, 0 bytes\nonly in the first plan: 'c'\nonly in the second plan: 'd'\n");
  Plan other = before;
  other.model_hash = std::string(64, 'b');
  CHECK_FALSE(diff(before, other).equal());
}

TEST_CASE("one short name of two plugins is a move, shown in full") {
  const Plan before = plan_of(true);
  Plan after = before;
  after.devices[0].full_name = "othernpu/NPU:0";
  const PlanDiff found = diff(before, after);
  CHECK(found.moved == 3);
  CHECK(diff_text(before, after, found).find("fastnpu/NPU:0 -> othernpu/NPU:0") != std::string::npos);
}
