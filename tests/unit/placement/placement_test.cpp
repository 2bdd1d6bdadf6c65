// SPDX-License-Identifier: Apache-2.0
#include "core/placement/placement.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "core/placement/plan_json.hpp"
#include "core/placement/validate.hpp"
#include "tests/support/fake_plugin.hpp"

using namespace optima;
using namespace optima::test;

namespace {

const std::vector<std::string> kAllOps = {"Relu", "Add", "Exp", "If", "Neg"};

struct Setup : GraphBuilder {
  FakePlugin cpu{"slowcpu", {"CPU"}, kAllOps};
  FakePlugin npu{"fastnpu", {"NPU"}, {"Relu", "Add"}};
  PlacementRequest request;
  Setup() { request.plugins = {&npu, &cpu}; }

  void candidates(std::vector<std::string> names) {
    for (const std::string& name : names) request.candidates.push_back(*parse_device(name));
  }
  void wish(const std::string& node, std::vector<std::string> devices, bool hard = true) {
    const uint32_t id = id_of(node);
    if (request.wishes.size() <= id) request.wishes.resize(id + 1);
    Wish& wish = request.wishes[id];
    for (const std::string& name : devices) wish.devices.push_back(*parse_device(name));
    wish.hard = hard;
    wish.source = "'" + node + "'";
  }
  Plan plan() {
    Result<Plan> made = make_plan(graph, request);
    INFO(made.status().message());
    REQUIRE(made.ok());
    return *made;
  }
  std::string error(StatusKind kind) {
    const Result<Plan> made = make_plan(graph, request);
    CHECK(made.status().kind() == kind);
    return made.status().message();
  }
};

// x -> a(Relu) -> b(Exp) -> c(Relu) -> y
struct Chain : Setup {
  Chain() {
    const uint32_t x = input("x");
    output(node("c", "Relu", {node("b", "Exp", {node("a", "Relu", {x})})}));
  }
};

std::string devices_of(const Plan& plan) {
  std::string out;
  for (const PlacedNode& node : plan.nodes) out += plan.devices[node.device].name + " ";
  return out;
}

}  // namespace

TEST_CASE("fewest subgraphs come before the preferred device, and the plan says so") {
  Chain c;
  c.candidates({"NPU:0", "CPU:0"});
  const Plan plan = c.plan();
  CHECK(devices_of(plan) == "CPU:0 CPU:0 CPU:0 ");
  CHECK(plan.subgraphs.size() == 1);
  CHECK(plan.exact);
  CHECK(plan.lower_bound == 1);
  CHECK(plan.nodes[0].why == Why::FewerParts);
  CHECK(plan.nodes[0].sentence == "NPU:0 takes it too, but on CPU:0 it makes fewer subgraphs");
  CHECK(plan.nodes[1].why == Why::OnlyDevice);
  CHECK(plan.nodes[1].sentence == "only CPU:0 takes it; NPU:0: operator Exp is not in the note of plugin fastnpu");
  CHECK(plan.nodes[1].answers[0].reason == "OP");
  REQUIRE(plan.notes.size() == 1);
  CHECK(plan.notes[0] ==
        "NPU:0 takes 2 nodes that run elsewhere because that makes fewer subgraphs; to put every node on the first device that can, allocate \"*\": [\"NPU:0\", \"CPU:0\"]");
}

TEST_CASE("a list wish for every node puts each on the first device that can") {
  Chain c;
  for (const char* name : {"a", "b", "c"}) c.wish(name, {"NPU:0", "CPU:0"}, false);
  const Plan plan = c.plan();
  CHECK(devices_of(plan) == "NPU:0 CPU:0 NPU:0 ");
  CHECK(plan.nodes[0].why == Why::Preferred);
  CHECK(plan.nodes[0].as_asked);
  CHECK_FALSE(plan.nodes[1].as_asked);
  CHECK(plan.nodes[1].sentence == "CPU:0 is the first that can of those that 'b' lists; NPU:0: operator Exp is not in the note of plugin fastnpu");
  REQUIRE(plan.cuts.size() == 2);
  CHECK(plan.cuts[0].name == "a_out");
  CHECK(plan.cuts[0].bytes == 16);
  CHECK(plan.bytes == 32);
  CHECK(plan.subgraphs[1].input_names == std::vector<std::string>{"a_out"});
}

TEST_CASE("a plan survives the way through JSON unchanged") {
  Chain c;
  c.wish("a", {"NPU:0"});
  c.candidates({"CPU:0"});
  const Plan plan = c.plan();
  const std::string text = to_text(plan_to_json(plan));
  const Result<Json> parsed = parse_json(text, "plan.json");
  REQUIRE(parsed.ok());
  const Result<Plan> back = plan_from_json(*parsed, "plan.json");
  REQUIRE(back.ok());
  CHECK(to_text(plan_to_json(*back)) == text);
  CHECK(validate(*back, c.graph, c.request).ok());
}
