// SPDX-License-Identifier: Apache-2.0
// What moves together: quantized units.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "core/plan/plan_json.hpp"
#include "core/plan/validate.hpp"
#include "core/report/what_if.hpp"
#include "tests/unit/placement/placing.hpp"

using namespace optima;
using namespace optima::test;

namespace {

// Both devices take everything; graphs of float[4] with int8[4] between QuantizeLinear and DequantizeLinear.
struct Quantized : Setup {
  uint32_t scale = constant("scale"), zero = constant("zero");
  Quantized() {
    for (FakePlugin* plugin : {&npu, &cpu})
      for (const char* op : {"QuantizeLinear", "DequantizeLinear", "Conv", "Mul"}) plugin->manifest_.operators.push_back(FakePlugin::row(op));
    npu.manifest_.operators.push_back(FakePlugin::row("Exp"));
    candidates({"NPU:0", "CPU:0"});
  }
  uint32_t int8(uint32_t value) {
    graph.main().values[value].dtype = OPTIMA_I8;
    return value;
  }
  uint32_t weight(const std::string& name) { return int8(constant(name)); }
  uint32_t q(const std::string& name, uint32_t x) { return int8(node(name, "QuantizeLinear", {x, scale, zero})); }
  uint32_t dq(const std::string& name, uint32_t x) { return node(name, "DequantizeLinear", {x, scale, zero}); }
  const PlacedNode& placed(const Plan& plan, const std::string& name) {
    for (const PlacedNode& n : plan.nodes)
      if (n.name == name) return n;
    FAIL("no node " << name);
    return plan.nodes[0];
  }
  std::string device(const Plan& plan, const std::string& name) { return plan.devices[placed(plan, name).device].name; }
};

// x -> q0 -> dq0 -> conv1 -> relu1 -> q1 -> dq1 -> conv2 -> q2 -> dq2 -> y, each Conv with its own weight behind wdq1, wdq2
struct TwoConvs : Quantized {
  TwoConvs() {
    const uint32_t x = q("q0", input("x"));
    const uint32_t c1 = node("conv1", "Conv", {dq("dq0", x), dq("wdq1", weight("w1"))});
    const uint32_t y = q("q1", node("relu1", "Relu", {c1}));
    const uint32_t c2 = node("conv2", "Conv", {dq("dq1", y), dq("wdq2", weight("w2"))});
    output(dq("dq2", q("q2", c2)));
  }
};

}  // namespace

TEST_CASE("a quantized unit follows the pin of its operator, and what crosses is int8") {
  TwoConvs c;
  c.wish("conv1", {"CPU:0"});
  c.request.candidates = {*parse_device("NPU:0")};
  const Plan plan = c.plan();
  for (const char* name : {"dq0", "wdq1", "conv1", "relu1", "q1"}) CHECK(c.device(plan, name) == "CPU:0");
  for (const char* name : {"dq1", "wdq2", "conv2", "q2"}) CHECK(c.device(plan, name) == "NPU:0");
  CHECK(c.placed(plan, "conv1").why == Why::Pinned);
  CHECK(c.placed(plan, "relu1").why == Why::FollowsUnit);
  CHECK(c.placed(plan, "relu1").sentence == "in the quantized unit of 'conv1', which 'conv1' wants on CPU:0");
  CHECK(c.placed(plan, "wdq2").sentence == "in the quantized unit of 'conv2'");
  CHECK(c.placed(plan, "wdq2").quantized_unit == "conv2");
  for (const CutTensor& cut : plan.cuts) CHECK(cut.bytes == 4);
  CHECK(plan.cuts.size() == 2);
  CHECK(plan.notes.empty());
}

TEST_CASE("a pin on any node of a quantized unit is a pin on the unit") {
  for (const char* name : {"dq0", "wdq1", "relu1", "q1"}) {
    TwoConvs c;
    c.wish(name, {"CPU:0"});
    c.request.candidates = {*parse_device("NPU:0")};
    const Plan plan = c.plan();
    CHECK(c.device(plan, "conv1") == "CPU:0");
    CHECK(c.placed(plan, name).why == Why::Pinned);
    CHECK(c.placed(plan, "conv1").why == Why::FollowsUnit);
    CHECK(c.device(plan, "conv2") == "NPU:0");
  }
}

TEST_CASE("pins that pull a quantized unit apart are an error that names both") {
  TwoConvs c;
  c.wish("conv1", {"CPU:0"});
  c.wish("q1", {"NPU:0"});
  CHECK(c.error(StatusKind::Placement) ==
        "the quantized unit of 'conv1' moves as one, but 'conv1' is pinned to CPU:0 by 'conv1' and 'q1' to NPU:0 by 'q1'; pin one of them");
}

TEST_CASE("within a quantized unit the more specific wish speaks for all, and the others are listed as not met") {
  TwoConvs c;
  for (const PlacedNode& node : c.plan().nodes) {
    c.wish(node.name, {node.op_type == "Conv" ? "NPU:0" : "CPU:0"});
    c.request.wishes[node.node_id].rank = node.op_type == "Conv" ? Wish::kOpRank : Wish::kEveryRank;
  }
  const Plan plan = c.plan();
  CHECK(c.device(plan, "q1") == "NPU:0");
  CHECK_FALSE(c.placed(plan, "q1").as_asked);
  CHECK(c.placed(plan, "conv1").as_asked);
  CHECK(c.device(plan, "q0") == "CPU:0");
  CHECK(c.device(plan, "dq2") == "CPU:0");
}

TEST_CASE("a list wish gives a quantized unit the first device that takes all of it") {
  TwoConvs c;
  c.npu.refuse(c.id_of("q1"), OPTIMA_REASON_QUANT, "zero point is not zero");
  for (const image::Node& node : c.graph.main().nodes) c.wish(node.name, {"NPU:0", "CPU:0"}, false);
  const Plan plan = c.plan();
  for (const char* name : {"dq0", "wdq1", "conv1", "relu1", "q1"}) CHECK(c.device(plan, name) == "CPU:0");
  CHECK(c.device(plan, "conv2") == "NPU:0");
  CHECK(c.placed(plan, "conv1").sentence == "CPU:0 is the first that can of those that 'conv1' lists; NPU:0 refuses 'q1' of it: zero point is not zero");
}

TEST_CASE("a quantized unit that no device takes whole is cut, and the plan says so") {
  TwoConvs c;
  c.npu.refuse(c.id_of("q1"), OPTIMA_REASON_QUANT, "zero point is not zero");
  c.cpu.refuse(c.id_of("wdq1"), OPTIMA_REASON_OP, "no weights here");
  const Plan plan = c.plan();
  CHECK(c.placed(plan, "conv1").quantized_unit.empty());
  CHECK(c.device(plan, "q1") == "CPU:0");
  CHECK(c.device(plan, "wdq1") == "NPU:0");
  REQUIRE(!plan.notes.empty());
  CHECK(plan.notes[0] ==
        "1 of 2 quantized units does not move as one: 'conv1': NPU:0 refuses 'q1' (QuantizeLinear): zero point is not zero; "
        "CPU:0 refuses 'wdq1' (DequantizeLinear): no weights here");
}

TEST_CASE("a pin to a device that does not take the whole unit cuts it, and the plan says so") {
  TwoConvs c;
  c.npu.refuse(c.id_of("dq0"), OPTIMA_REASON_OP, "not here");
  c.wish("conv1", {"NPU:0"});
  const Plan plan = c.plan();
  CHECK(c.device(plan, "conv1") == "NPU:0");
  CHECK(c.device(plan, "dq0") == "CPU:0");
  CHECK(plan.notes[0] == "1 of 2 quantized units does not move as one: 'conv1': NPU:0 refuses 'dq0' (DequantizeLinear): not here");
}

TEST_CASE("a DequantizeLinear that two units read runs in both") {
  Quantized c;  // x -> dq -> conv1 -> q1 -> y1 and dq -> conv2 -> q2 -> y2
  const uint32_t shared = c.dq("dq", c.int8(c.input("x")));
  c.output(c.q("q1", c.node("conv1", "Conv", {shared})));
  c.output(c.q("q2", c.node("conv2", "Conv", {shared})));
  c.wish("conv1", {"NPU:0"});
  c.wish("conv2", {"CPU:0"});
  const Plan plan = c.plan();
  CHECK(plan.subgraphs.size() == 2);
  CHECK(plan.cuts.empty());
  CHECK(c.device(plan, "dq") == "NPU:0");
  const Subgraph& other = plan.subgraphs[c.placed(plan, "conv2").subgraph];
  REQUIRE(other.clones.size() == 1);
  CHECK(plan.nodes[other.clones[0].node].name == "dq");
  CHECK(other.clones[0].sentence == "runs here too, for 'conv2': its quantized unit moves as one");
  CHECK(other.input_names == std::vector<std::string>{"x"});
  CHECK(other.output_names == std::vector<std::string>{"q2_out"});
}

TEST_CASE("a pin on a shared DequantizeLinear binds the unit it is at home in, which may be the second") {
  Quantized c;
  const uint32_t shared = c.dq("dq", c.int8(c.input("x")));
  c.output(c.q("q1", c.node("conv1", "Conv", {shared})));
  c.output(c.q("q2", c.node("conv2", "Conv", {shared})));
  c.wish("conv1", {"NPU:0"});
  c.wish("conv2", {"CPU:0"});
  c.wish("dq", {"CPU:0"});
  const Plan plan = c.plan();
  CHECK(c.device(plan, "dq") == "CPU:0");
  CHECK(plan.subgraphs[c.placed(plan, "conv1").subgraph].clones.size() == 1);
}

TEST_CASE("a residual block: the shared DequantizeLinear closes no cycle and the Add keeps its unit") {
  Quantized c;
  const uint32_t skip = c.dq("dq0", c.q("q0", c.input("x")));
  const uint32_t y = c.q("q1", c.node("conv", "Conv", {skip, c.dq("wdq", c.weight("w"))}));
  c.output(c.q("q2", c.node("add", "Add", {c.dq("dq1", y), skip})));
  c.wish("conv", {"NPU:0"});
  c.wish("add", {"CPU:0"});
  const Plan plan = c.plan();
  CHECK(plan.subgraphs.size() == 2);
  CHECK(c.placed(plan, "add").quantized_unit == "add");
  CHECK(c.device(plan, "dq1") == "CPU:0");
  for (const CutTensor& cut : plan.cuts) CHECK(cut.bytes == 4);
  const std::string text = to_text(plan_to_json(plan));
  const Result<Plan> back = plan_from_json(*parse_json(text, "plan.json"), "plan.json");
  REQUIRE(back.ok());
  CHECK(to_text(plan_to_json(*back)) == text);
  CHECK(validate(*back, c.graph, c.request).ok());
  const Result<WhatIfReport> again = what_if(*back);  // splits the plan again: the copy closes no cycle there either
  CHECK(again.status().message() == "");
  CHECK(again->subgraphs == 2);
}

TEST_CASE("a quantized unit and a plugin's group that share a node are one unit") {
  TwoConvs c;
  c.npu.group(1, {c.id_of("conv1"), c.id_of("relu1")});
  const Plan plan = c.plan();
  CHECK(plan.subgraphs.size() == 1);
  CHECK(plan.subgraphs[0].device == 0);
  c.npu.group(1, {c.id_of("conv1"), c.id_of("conv2")});  // dq1 lies between: never convex without it
  CHECK(c.plan().subgraphs.size() == 1);
}

TEST_CASE("scale or zero point that is computed makes no quantized unit") {
  Quantized c;
  const uint32_t x = c.input("x"), s = c.node("s", "Relu", {x});
  c.output(c.node("conv", "Conv", {c.node("dq", "DequantizeLinear", {c.int8(c.input("i")), s})}));
  const Plan plan = c.plan();
  for (const PlacedNode& node : plan.nodes) CHECK(node.quantized_unit.empty());
}

// ---- order of stateful nodes

namespace {
// Three generators that no tensor joins; the second runs on CPU only.
struct Dice : Setup {
  Dice() {
    for (FakePlugin* plugin : {&npu, &cpu}) plugin->manifest_.operators.push_back(FakePlugin::row("RandomNormal"));
    for (const char* name : {"r1", "r2", "r3"}) output(node(name, "RandomNormal", {}));
    wish("r1", {"NPU:0"});
    wish("r2", {"CPU:0"});
    wish("r3", {"NPU:0"});
  }
};
}  // namespace

TEST_CASE("generators keep the model's order, at the price of a subgraph") {
  Dice d;
  const Plan plan = d.plan();
  CHECK(devices_of(plan) == "NPU:0 CPU:0 NPU:0 ");
  CHECK(plan.subgraphs.size() == 3);
  CHECK(plan.exact);
  CHECK(plan.cuts.empty());
  CHECK_FALSE(plan.nodes[0].after);
  CHECK(plan.nodes[2].after == 1);
  const std::string text = to_text(plan_to_json(plan));
  const Result<Plan> back = plan_from_json(*parse_json(text, "plan.json"), "plan.json");
  REQUIRE(back.ok());
  CHECK(back->nodes[1].after == 0);
  CHECK(what_if(*back)->subgraphs == 3);
  Plan broken = plan;
  broken.nodes[2].after.reset();
  CHECK(validate(broken, d.graph, d.request).message() == "plan is not valid: node 'r3' does not name the stateful node before it");
}

TEST_CASE("an order between generators is no tensor: no link is paid for it, and it is no input or output of a subgraph") {
  Dice d;
  d.request.objective = Objective::Latency;
  for (const std::string device : {"NPU:0", "CPU:0"}) {
    d.request.settings.push_back({*parse_device(device), {}, 0, 0, 1, 1});
    for (const std::string other : {"NPU:0", "CPU:0"})
      if (device != other) d.request.links.push_back({*parse_device(device), *parse_device(other), 1000, 0});
  }
  const Plan plan = d.plan();
  CHECK(devices_of(plan) == "NPU:0 CPU:0 NPU:0 ");
  CHECK(plan.estimate->transfer == 0);
  CHECK(plan.estimate->total() < 1);
  d.npu.manifest_.limits.max_io = d.cpu.manifest_.limits.max_io = 1;
  d.request.objective = Objective::Parts;
  CHECK(d.plan().subgraphs.size() == 3);
}

TEST_CASE("the validator sees a generator that runs too early") {
  Dice d;
  for (image::Node& node : d.graph.main().nodes) node.op_type = "Relu";
  Plan plan = d.plan();
  CHECK(plan.subgraphs.size() == 2);  // nothing stateful: the two on the NPU run together
  for (uint32_t n = 0; n < 3; ++n) {
    d.graph.main().nodes[n].op_type = plan.nodes[n].op_type = "RandomNormal";
    if (n > 0) plan.nodes[n].after = n - 1;
  }
  CHECK(validate(plan, d.graph, d.request).message() == "plan is not valid: node 'r3' is in subgraph 0, before 'r2', whose state it follows");
}

TEST_CASE("Dropout is stateful unless it is known not to train, and a plugin's note may mark an operator so") {
  Dice d;
  const uint32_t mode = d.constant("mode");
  const uint8_t off = 0, on = 1;
  d.graph.blobs[0] = Blob::copy(&on, 1);
  for (image::Node& node : d.graph.main().nodes) node.op_type = "Dropout", node.inputs = {d.graph.main().nodes[0].outputs[0], OPTIMA_NONE, mode};
  const uint32_t x = d.input("x");
  for (image::Node& node : d.graph.main().nodes) node.inputs[0] = x;
  for (FakePlugin* plugin : {&d.npu, &d.cpu}) plugin->manifest_.operators.push_back(FakePlugin::row("Dropout"));
  CHECK(d.plan().subgraphs.size() == 3);
  d.graph.blobs[0] = Blob::copy(&off, 1);
  CHECK(d.plan().subgraphs.size() == 2);
  d.cpu.manifest_.operators.back().stateful = true;
  CHECK(d.plan().subgraphs.size() == 3);
}

TEST_CASE("a node with a generator three bodies deep is stateful, and what the deepest body captures is a tensor it waits for") {
  Dice d;
  d.candidates({"CPU:0"});
  const uint32_t a = d.node("a", "Relu", {d.input("x")});
  d.output(d.node("if_1", "If", {d.input("c")}));
  uint32_t holder = d.body("if_1/then", {a});
  for (const char* name : {"if_2", "if_3"}) {
    d.node(name, "If", {}, holder);
    const auto inner = static_cast<uint32_t>(d.graph.contents.graphs.size());
    d.graph.contents.graphs.emplace_back();
    d.graph.contents.graphs[inner].name = name;
    d.graph.contents.graphs[inner].captures = {{0, d.value(std::string(name) + "/captured", inner)}};
    image::Attr attr;
    attr.name = "then_branch", attr.type = OPTIMA_ATTR_GRAPH, attr.refs = {inner};
    d.graph.contents.graphs[holder].nodes.back().attrs.push_back(std::move(attr));
    holder = inner;
  }
  d.node("deep", "RandomNormalLike", {0}, holder);
  d.wish("a", {"NPU:0"});
  const Plan plan = d.plan();
  CHECK(plan.nodes[4].name == "if_1");
  CHECK(plan.nodes[4].after == 2);
  CHECK(plan.subgraphs[plan.nodes[4].subgraph].input_names == std::vector<std::string>{"c", "a_out"});
  CHECK(plan.nodes[4].subgraph > plan.nodes[2].subgraph);
}

TEST_CASE("the validator does not let a quantized unit be cut or a clone go unread") {
  Quantized c;
  const uint32_t shared = c.dq("dq", c.int8(c.input("x")));
  c.output(c.q("q1", c.node("conv1", "Conv", {shared})));
  c.output(c.q("q2", c.node("conv2", "Conv", {shared})));
  c.wish("conv1", {"NPU:0"});
  c.wish("conv2", {"CPU:0"});
  const Plan good = c.plan();
  const auto verdict = [&](auto&& damage) {
    Plan broken = good;
    damage(broken);
    return validate(broken, c.graph, c.request).message();
  };
  const uint32_t other = c.placed(good, "conv2").subgraph;
  CHECK(verdict([&](Plan& p) { p.subgraphs[other].clones.clear(); }) == "plan is not valid: outputs of subgraph 0 are q1_out, wanted dq_out, q1_out");
  CHECK(verdict([&](Plan& p) { p.subgraphs[0].clones = {{3, ""}}; }).find("nobody in subgraph 0 reads its clone of 'conv2'") != std::string::npos);
  CHECK(verdict([&](Plan& p) { p.subgraphs[0].clones = {{0, ""}}; }) == "plan is not valid: subgraph 0 runs node 'dq' twice");
  CHECK(verdict([&](Plan& p) { p.subgraphs[0].clones = {{99, ""}}; }) == "plan is not valid: subgraph 0 clones node 99 of 5");
  CHECK(verdict([&](Plan& p) { p.nodes[0].answers[p.subgraphs[other].device].yes = false; }) ==
        "plan is not valid: subgraph 1 clones node 'dq', which its device refused");
  CHECK(verdict([&](Plan& p) { p.nodes[3].quantized_unit = "conv1"; }) == "plan is not valid: the quantized unit of 'conv1' is in subgraphs 0 and 1");
}
