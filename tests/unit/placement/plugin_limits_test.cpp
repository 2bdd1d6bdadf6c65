// SPDX-License-Identifier: Apache-2.0
// What plugins declare that a subgraph may be, from their notes to the plan, its reasons, its errors and its validation.
#include <doctest/doctest.h>

#include "core/plan/validate.hpp"
#include "tests/unit/placement/placing.hpp"

using namespace optima;
using namespace optima::test;

namespace {

// A chain of Relu on NPU and CPU, with Exp (CPU alone) where the text says so: "rrerr". NPU first, and a list wish for all of
// the r keeps them there where it can.
struct Row : Setup {
  explicit Row(const std::string& text, bool wished = true) {
    uint32_t v = input("x");
    for (size_t i = 0; i < text.size(); ++i) v = node("n" + std::to_string(i), text[i] == 'e' ? "Exp" : "Relu", {v});
    output(v);
    candidates({"NPU:0", "CPU:0"});
    for (size_t i = 0; wished && i < text.size(); ++i)
      if (text[i] == 'p') wish("n" + std::to_string(i), {"NPU:0"});
  }
  Limits& npu_limits() { return npu.manifest_.limits; }
};

}  // namespace

TEST_CASE("a subgraph is closed when its plugin's most nodes are in, and a note says so") {
  Row row("ppppp");
  row.npu_limits().max_nodes = 2;
  const Plan plan = row.plan();
  REQUIRE(plan.subgraphs.size() == 3);
  CHECK(plan.subgraphs[0].nodes.size() == 2);
  CHECK(plan.subgraphs[2].nodes.size() == 1);
  CHECK(plan.lower_bound == 1);
  CHECK_FALSE(plan.exact);
  CHECK(plan.notes == std::vector<std::string>{"NPU:0 has 2 subgraphs more than without limits: a subgraph there takes at most 2 nodes"});
}

TEST_CASE("memory is that of weights and of what the nodes make, by the note or by the config, whichever is less") {
  Row row("pppp", true);
  row.npu_limits().memory = 40;  // a value is 16 bytes
  CHECK(row.plan().subgraphs.size() == 2);
  row.request.settings.push_back({*parse_device("NPU:0"), {}, 20});
  CHECK(row.plan().subgraphs.size() == 4);
  row.request.settings[0].memory_limit = 10;
  CHECK(row.error(StatusKind::Placement) ==
        "node 'n0' (Relu): pinned to NPU:0 by 'n0', but a subgraph on NPU:0 may hold at most 10 bytes, and it alone is more");
}

TEST_CASE("a node too big for a device's subgraph goes elsewhere, with the limit as reason") {
  Setup s;
  const uint32_t w = s.constant("w");
  s.output(s.node("a", "Add", {s.input("x"), w}));
  s.candidates({"NPU:0", "CPU:0"});
  s.npu.manifest_.limits.memory = 31;  // w and the sum are 32
  const Plan plan = s.plan();
  CHECK(devices_of(plan) == "CPU:0 ");
  CHECK(plan.nodes[0].why == Why::Capacity);
  CHECK(plan.nodes[0].sentence == "NPU:0 takes it too, but a subgraph on NPU:0 may hold at most 31 bytes");
  CHECK(plan.nodes[0].answers[0].yes);
  CHECK(plan.nodes[0].answers[0].text == "a subgraph on NPU:0 may hold at most 31 bytes");
  s.npu.manifest_.limits.memory = 32;
  CHECK(devices_of(s.plan()) == "NPU:0 ");
}

TEST_CASE("of too many subgraphs the smallest leave, and their nodes say why") {
  Row row("pepprrrepp");
  row.npu_limits().max_subgraphs = 3;
  CHECK(row.plan().subgraphs.size() == 5);
  row.npu_limits().max_subgraphs = 2;
  CHECK(row.error(StatusKind::Placement) ==
        "plugin 'fastnpu' takes at most 2 subgraphs, but at least 3 are needed; none of these could be spared as a reason: "
        "'n0' (Relu): pinned to NPU:0 by 'n0'; 'n1' (Exp): only CPU:0 of the candidates takes it; 'n3' (Relu): pinned to NPU:0 by 'n3'; "
        "'n7' (Exp): only CPU:0 of the candidates takes it; 'n8' (Relu): pinned to NPU:0 by 'n8'");
}

TEST_CASE("connected only: pieces that share nothing become subgraphs of their own, and small ones leave when there are too many") {
  Setup s;
  for (int i = 0; i < 3; ++i) {
    uint32_t v = s.input("x" + std::to_string(i));
    for (int k = 0; k <= i; ++k) v = s.node("n" + std::to_string(i) + std::to_string(k), "Relu", {v});
    s.output(v);
  }
  s.candidates({"NPU:0", "CPU:0"});
  CHECK(s.plan().subgraphs.size() == 1);
  s.npu.manifest_.limits.connected_only = true;
  CHECK(s.plan().subgraphs.size() == 3);
  s.npu.manifest_.limits.max_subgraphs = 1;
  const Plan plan = s.plan();
  CHECK(plan.subgraphs.size() == 1);
  CHECK(plan.nodes[0].why == Why::Capacity);
  CHECK(plan.nodes[0].sentence == "NPU:0 takes it too, but plugin 'fastnpu' takes at most 1 subgraph, and this would be one more");
  CHECK(plan.nodes[5].why == Why::FewerParts);  // once some are on CPU:0, the rest is one subgraph less there
  CHECK(devices_of(plan) == "CPU:0 CPU:0 CPU:0 CPU:0 CPU:0 CPU:0 ");
  s.wish("n22", {"NPU:0"});
  CHECK(devices_of(s.plan()) == "CPU:0 CPU:0 CPU:0 NPU:0 NPU:0 NPU:0 ");
}

TEST_CASE("operators that a subgraph may not begin or end with leave the device, or bring what they are connected with") {
  Row row("per");
  row.npu.manifest_.limits.not_last = {"Relu"};
  CHECK(row.error(StatusKind::Placement) ==
        "node 'n0' (Relu): pinned to NPU:0 by 'n0', but no subgraph of plugin 'fastnpu' may end with Relu, "
        "and what it is connected with runs elsewhere");
  Setup s;
  const uint32_t a = s.node("a", "Relu", {s.input("x")});
  s.output(s.node("b", "Add", {a, a}));
  s.candidates({"NPU:0", "CPU:0"});
  s.npu.manifest_.limits.not_first = {"Relu"};
  const Plan plan = s.plan();
  CHECK(devices_of(plan) == "CPU:0 CPU:0 ");
  CHECK(plan.nodes[0].sentence == "NPU:0 takes it too, but no subgraph of plugin 'fastnpu' may begin with Relu");
}

TEST_CASE("inputs and outputs of a subgraph are counted, the model's own included") {
  Setup s;
  const uint32_t x = s.input("x");
  uint32_t v = x;
  for (int i = 0; i < 6; ++i) {
    v = s.node("n" + std::to_string(i), "Add", {v, s.input("y" + std::to_string(i))});
    s.wish("n" + std::to_string(i), {"NPU:0"});
  }
  s.output(v);
  s.npu.manifest_.limits.max_io = 5;
  const Plan plan = s.plan();
  CHECK(plan.subgraphs.size() == 2);
  for (const Subgraph& subgraph : plan.subgraphs) CHECK(subgraph.inputs.size() + subgraph.outputs.size() <= 5);
}

TEST_CASE("no more subgraphs than asked for, or the nodes that need them") {
  Row row("pep");
  row.request.max_subgraphs = 3;
  CHECK(row.plan().subgraphs.size() == 3);
  row.request.max_subgraphs = 2;
  CHECK(row.error(StatusKind::Placement) ==
        "--max-subgraphs 2, but at least 3 are needed; none of these could be spared as a reason: 'n0' (Relu): pinned to NPU:0 by 'n0'; "
        "'n1' (Exp): only CPU:0 of the candidates takes it; 'n2' (Relu): pinned to NPU:0 by 'n2'");
}

TEST_CASE("the validator knows the limits by itself") {
  Row row("ppppep");
  const Plan plan = row.plan();
  const auto verdict = [&](auto&& set) {
    PlacementRequest& request = row.request;
    const Limits before = row.npu_limits();
    set(row.npu_limits(), request);
    const Status status = validate(plan, row.graph, request);
    CHECK(status.kind() == StatusKind::Internal);
    row.npu_limits() = before;
    request.max_subgraphs = 0;
    return status.message();
  };
  CHECK(validate(plan, row.graph, row.request).ok());
  CHECK(verdict([](Limits& l, PlacementRequest&) { l.max_nodes = 3; }) == "plan is not valid: subgraph 0 has 4 nodes, wanted at most 3");
  CHECK(verdict([](Limits& l, PlacementRequest&) { l.memory = 63; }) == "plan is not valid: subgraph 0 has 64 bytes, wanted at most 63");
  CHECK(verdict([](Limits& l, PlacementRequest&) { l.max_io = 1; }) == "plan is not valid: subgraph 0 has 2 inputs and outputs, wanted at most 1");
  CHECK(verdict([](Limits& l, PlacementRequest&) { l.max_subgraphs = 1; }) ==
        "plan is not valid: subgraph 2 has 2 subgraphs of its plugin, wanted at most 1");
  CHECK(verdict([](Limits& l, PlacementRequest&) { l.not_first = {"Relu"}; }) == "plan is not valid: subgraph 0 begins with 'n0', which is Relu");
  CHECK(verdict([](Limits& l, PlacementRequest&) { l.not_last = {"Relu"}; }) == "plan is not valid: subgraph 0 ends with 'n3', which is Relu");
  CHECK(verdict([](Limits&, PlacementRequest& r) { r.max_subgraphs = 2; }) == "plan is not valid: it has 3 subgraphs, wanted at most 2");
}
