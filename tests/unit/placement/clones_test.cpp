// SPDX-License-Identifier: Apache-2.0
// Cheap nodes that run in several subgraphs, because their inputs are less to move than their results.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "core/plan/validate.hpp"
#include "tests/unit/placement/placing.hpp"

using namespace optima;
using namespace optima::test;

namespace {

// Both devices take all of it. big() is float[1000].
struct Net : Setup {
  Net() {
    for (FakePlugin* plugin : {&npu, &cpu})
      for (const char* op : {"Cast", "ConstantOfShape", "Expand", "Reshape", "Shape", "Mul", "Exp", "RandomNormalLike"})
        plugin->manifest_.operators.push_back(FakePlugin::row(op));
    candidates({"NPU:0", "CPU:0"});
  }
  uint32_t big(uint32_t value) {
    graph.main().values[value].dims = std::vector<image::Dim>{{1000, ""}};
    return value;
  }
  // The names of what each subgraph clones: "|b|" = nothing in the first, b in the second.
  std::string clones(const Plan& plan) {
    std::string out = "|";
    for (const Subgraph& subgraph : plan.subgraphs) {
      for (const Clone& clone : subgraph.clones) out += plan.nodes[clone.node].name + " ";
      out += "|";
    }
    return out;
  }
};

// x -> a(NPU) -> grow -> b(NPU) -> c(CPU), and grow -> c: grow makes 4000 bytes of 16
struct Grown : Net {
  explicit Grown(const std::string& op) {
    const uint32_t a = node("a", "Relu", {input("x")}), grown = big(node("grow", op, {a}));
    output(big(node("c", "Add", {big(node("b", "Exp", {grown})), grown})));
    wish("a", {"NPU:0"});
    wish("b", {"NPU:0"});
    wish("c", {"CPU:0"});
  }
};

}  // namespace

TEST_CASE("a cheap node is cloned when its input is less to move than its result") {
  Grown net("Expand");
  const Plan plan = net.plan();
  CHECK(net.clones(plan) == "||grow |");
  CHECK(plan.subgraphs[1].clones[0].sentence == "runs here too, for 'c': 16 bytes come over instead of 3.9 KiB");
  CHECK(plan.bytes == 16 + 4000);
  CHECK(plan.subgraphs[1].input_names == std::vector<std::string>{"a_out", "b_out"});
  CHECK(plan.subgraphs[0].output_names == std::vector<std::string>{"a_out", "b_out"});
}

TEST_CASE("what is not cheap, a generator, what the other device refuses or a pin holds is not cloned") {
  CHECK(Grown("Exp").plan().bytes == 8000);
  Grown dice("RandomNormalLike"), refused("Expand"), pinned("Expand"), rather("Expand");
  CHECK(dice.clones(dice.plan()) == "|||");
  refused.cpu.refuse(refused.id_of("grow"), OPTIMA_REASON_OP, "not here");
  CHECK(refused.clones(refused.plan()) == "|||");
  pinned.wish("grow", {"NPU:0"});
  CHECK(pinned.clones(pinned.plan()) == "|||");
  const uint32_t id = rather.id_of("grow");
  rather.cpu.verdicts[id] = {id, OPTIMA_VERDICT_PREFER_ELSEWHERE, OPTIMA_REASON_POLICY, OPTIMA_NONE, "", "", "", "slow here"};
  CHECK(rather.clones(rather.plan()) == "|||");
}

TEST_CASE("a chain of cheap nodes is cloned as a whole") {
  Net net;  // a -> cast -> grow -> b, and grow -> c: both are cloned, 16 bytes come over
  const uint32_t a = net.node("a", "Relu", {net.input("x")}), grown = net.big(net.node("grow", "Expand", {net.node("cast", "Cast", {a})}));
  net.graph.main().values[net.graph.main().nodes[1].outputs[0]].dtype = OPTIMA_F64;
  net.output(net.big(net.node("c", "Add", {net.big(net.node("b", "Exp", {grown})), grown})));
  for (const char* name : {"a", "b"}) net.wish(name, {"NPU:0"});
  net.wish("c", {"CPU:0"});
  const Plan plan = net.plan();
  CHECK(net.clones(plan) == "||cast grow |");
  CHECK(plan.bytes == 16 + 4000);
}

TEST_CASE("what comes over anyway is free: a Reshape of it is not moved a second time") {
  Net net;  // a -> shaped -> b; a and shaped -> c
  const uint32_t a = net.big(net.node("a", "Relu", {net.big(net.input("x"))})), shaped = net.big(net.node("shaped", "Reshape", {a}));
  const uint32_t b = net.big(net.node("b", "Exp", {shaped}));
  net.output(net.big(net.node("c", "Add", {b, net.big(net.node("d", "Add", {a, shaped}))})));
  for (const char* name : {"a", "b"}) net.wish(name, {"NPU:0"});
  for (const char* name : {"c", "d"}) net.wish(name, {"CPU:0"});
  const Plan plan = net.plan();
  CHECK(net.clones(plan) == "||shaped |");
  CHECK(plan.bytes == 8000);
  CHECK(plan.subgraphs[1].clones[0].sentence == "runs here too, for 'd': 3.9 KiB need not come over");
}

TEST_CASE("a node that nobody would read at home any more is not cloned") {
  Net net;  // a -> grow -> c, grow is free and lands beside a
  const uint32_t grown = net.big(net.node("grow", "Expand", {net.node("a", "Relu", {net.input("x")})}));
  net.output(net.big(net.node("c", "Exp", {grown})));
  net.output(net.node("e", "Neg", {net.big(net.node("d", "Mul", {grown}))}));
  net.wish("a", {"NPU:0"});
  for (const char* name : {"c", "d", "e"}) net.wish(name, {"CPU:0"});
  const Plan plan = net.plan();
  CHECK(net.clones(plan) == "|||");
  CHECK(plan.subgraphs[0].output_names == std::vector<std::string>{"grow_out"});
}

TEST_CASE("a result of unknown size is cloned only when nothing comes over for it") {
  Net net;
  const uint32_t x = net.input("x"), a = net.node("a", "Relu", {x});
  const uint32_t shape = net.node("shape", "Shape", {x}), grown = net.node("grow", "ConstantOfShape", {shape}), other = net.node("other", "Expand", {a});
  for (uint32_t v : {grown, other}) net.graph.main().values[v].dims = std::vector<image::Dim>{{-1, "n"}};
  net.output(net.node("b", "Add", {grown, other}));
  net.output(net.node("c", "Add", {grown, other}));
  for (const char* name : {"a", "b", "shape", "grow", "other"}) net.wish(name, {"NPU:0", "CPU:0"}, false);
  net.wish("c", {"CPU:0"});
  CHECK(net.clones(net.plan()) == "||shape grow |");  // x is there from the start; 'other' has to be waited for
  net.request.wishes.clear();
  for (const char* name : {"a", "b", "shape", "grow", "other"}) net.wish(name, {"NPU:0"});
  net.wish("c", {"CPU:0"});
  CHECK(net.clones(net.plan()) == "|||");  // pins hold them on the NPU
  net.request.wishes.clear();
  net.wish("a", {"NPU:0"});
  net.wish("b", {"NPU:0"});
  net.wish("c", {"CPU:0"});
  CHECK(net.clones(net.plan()) == "||shape grow |");
}

TEST_CASE("the allocation written back lists where clones run, and means the same plan") {
  Grown net("Expand");
  const Plan plan = net.plan();
  const std::string text = allocation_of(plan, net.graph);
  CHECK(text.find("\"grow\": [\n    \"NPU:0\",\n    \"CPU:0\"\n  ]") != std::string::npos);
  const Result<Json> json = parse_json(text, "alloc.json");
  REQUIRE(json.ok());
  const Result<Allocation> allocation = parse_allocation(*json, "alloc.json");
  REQUIRE(allocation.ok());
  const Result<Resolved> resolved = resolve(*allocation, net.graph);
  REQUIRE(resolved.ok());
  net.request.wishes = resolved->by_node_id;
  const Plan again = net.plan();
  CHECK(net.clones(again) == "||grow |");
  CHECK(again.bytes == plan.bytes);
}

TEST_CASE("a plan that is followed keeps its clones though every node is pinned") {
  Grown net("Expand");
  net.wish("grow", {"NPU:0"});
  CHECK(net.clones(net.plan()) == "|||");
  net.request.kept[net.id_of("grow")].clones = {*parse_device("slowcpu/CPU:0")};
  CHECK(net.clones(net.plan()) == "||grow |");
}
