// SPDX-License-Identifier: Apache-2.0
#include "core/plan/validate.hpp"

#include <functional>
#include <random>

#include "tests/unit/placement/placing.hpp"

using namespace optima;
using namespace optima::test;

namespace {

// x -> a(Relu, NPU) -> b(Exp, CPU) -> c(Relu, NPU) -> y, and a -> c
struct Diamond : Setup {
  Plan good;
  Diamond() {
    const uint32_t a = node("a", "Relu", {input("x")}), b = node("b", "Exp", {a});
    output(node("c", "Add", {a, b}));
    candidates({"CPU:0"});
    for (const char* name : {"a", "c"}) wish(name, {"NPU:0"});
    good = plan();
  }
  std::string verdict(const std::function<void(Plan&)>& damage) {
    Plan broken = good;
    damage(broken);
    const Status status = validate(broken, graph, request);
    CHECK(status.kind() == StatusKind::Internal);
    return status.message();
  }
};

}  // namespace

TEST_CASE("the validator accepts the plan that placement made") {
  Diamond d;
  CHECK(d.good.subgraphs.size() == 3);
  CHECK(validate(d.good, d.graph, d.request).ok());
}

TEST_CASE("the validator names each kind of broken plan") {
  Diamond d;
  CHECK(d.verdict([](Plan& p) { p.nodes.pop_back(); }) == "plan is not valid: it has 2 nodes, the graph 3");
  CHECK(d.verdict([](Plan& p) { p.nodes[0].name = "z"; }) == "plan is not valid: entry 0 is called 'z', the node 'a'");
  CHECK(d.verdict([](Plan& p) { p.nodes[0].node_id = 5; }) == "plan is not valid: entry 0 is called 'a', the node 'a'");
  CHECK(d.verdict([](Plan& p) { p.nodes[0].subgraph = 9; }) == "plan is not valid: node 'a' is in subgraph 9 of 3");
  CHECK(d.verdict([](Plan& p) { p.nodes[0].device = 9; }) == "plan is not valid: node 'a' is on device 9 of 2");
  CHECK(d.verdict([](Plan& p) { p.subgraphs.push_back({}); }) == "plan is not valid: subgraph 3 is empty");
  CHECK(d.verdict([](Plan& p) { p.subgraphs[1].device = 7; }) == "plan is not valid: subgraph 1 is on device 7 of 2");
  CHECK(d.verdict([](Plan& p) { p.subgraphs[1].device = p.subgraphs[0].device; }) == "plan is not valid: subgraphs 0 and 1 are neighbours on one device");
  CHECK(d.verdict([](Plan& p) { p.subgraphs[1].nodes = {9}; }) == "plan is not valid: subgraph 1 has node 9 of 3");
  CHECK(d.verdict([](Plan& p) { p.subgraphs[1].nodes = {1, 1}; }) == "plan is not valid: nodes of subgraph 1 are not ascending");
  CHECK(d.verdict([](Plan& p) { p.subgraphs[1].nodes = {1, 2}; }) == "plan is not valid: node 'c' and subgraph 1 disagree");
  CHECK(d.verdict([](Plan& p) { p.nodes[1].device = p.nodes[0].device; }) == "plan is not valid: node 'b' and subgraph 1 disagree");
  CHECK(d.verdict([](Plan& p) { p.nodes[0].answers[p.nodes[0].device].yes = false; }) == "plan is not valid: node 'a' is on NPU:0, which refused it");
  CHECK(d.verdict([](Plan& p) { p.nodes[0].answers.clear(); }) == "plan is not valid: node 'a' has 0 answers, wanted one for each of 2 devices");
  CHECK(d.verdict([](Plan& p) { p.subgraphs[0].inputs.clear(), p.subgraphs[0].input_names.clear(); }) == "plan is not valid: inputs of subgraph 0 are , wanted x");
  CHECK(d.verdict([](Plan& p) { std::swap(p.subgraphs[2].inputs[0], p.subgraphs[2].inputs[1]), std::swap(p.subgraphs[2].input_names[0], p.subgraphs[2].input_names[1]); }) ==
        "plan is not valid: inputs of subgraph 2 are b_out, a_out, wanted a_out, b_out");
  CHECK(d.verdict([](Plan& p) { p.subgraphs[1].input_names[0] = "other"; }) == "plan is not valid: inputs of subgraph 1 are other, wanted a_out");
  CHECK(d.verdict([](Plan& p) { p.tensors.pop_back(); }) == "plan is not valid: tensor 'c_out' is not listed");
  CHECK(d.verdict([](Plan& p) { p.tensors.push_back({}); }) == "plan is not valid: tensor '' is not in the graph");
  for (const auto& damage : {+[](PlanTensor& t) { t.to.pop_back(); }, +[](PlanTensor& t) { t.from = 1; }, +[](PlanTensor& t) { t.bytes = 1; },
                             +[](PlanTensor& t) { t.output = true; }, +[](PlanTensor& t) { t.type = "f16[4]"; }})
    CHECK(d.verdict([&](Plan& p) { damage(p.tensors[1]); }) == "plan is not valid: tensor 'a_out' is not what is there, wanted 'a_out'");
  CHECK(d.verdict([](Plan& p) { p.subgraphs[2].outputs.clear(), p.subgraphs[2].output_names.clear(); }) == "plan is not valid: outputs of subgraph 2 are , wanted c_out");
  CHECK(d.verdict([](Plan& p) { p.subgraphs[0].outputs.push_back(0), p.subgraphs[0].output_names.push_back("x"); }) == "plan is not valid: outputs of subgraph 0 are a_out, x, wanted a_out");
  CHECK(d.verdict([](Plan& p) { p.cuts.pop_back(); }) == "plan is not valid: cut tensor 'b_out' is not listed");
  CHECK(d.verdict([](Plan& p) { p.cuts.push_back(p.cuts[0]); }) == "plan is not valid: cut tensor 'a_out' does not cross");
  CHECK(d.verdict([](Plan& p) { p.cuts[0].to = {1}; }) == "plan is not valid: cut tensor 'a_out' is not what crosses there, wanted 'a_out' of 16 bytes");
  CHECK(d.verdict([](Plan& p) { p.cuts[0].bytes = 4; }) == "plan is not valid: cut tensor 'a_out' is not what crosses there, wanted 'a_out' of 16 bytes");
  CHECK(d.verdict([](Plan& p) { p.bytes = 1; }) == "plan is not valid: 48 bytes cross, it says 1");
  CHECK(d.verdict([](Plan& p) { p.lower_bound = 4; }) == "plan is not valid: the proven minimum of 4 is above its 3 subgraphs");
  CHECK(d.verdict([](Plan& p) { p.exact = false; }) == "plan is not valid: minimum and 'exact' disagree");
}

TEST_CASE("the validator finds a plan that does not keep its question, or another's") {
  Diamond d;
  const auto verdict = [&](const std::function<void(PlanQuestion&)>& damage) { return d.verdict([&](Plan& p) { damage(*p.question); }); };
  CHECK(d.verdict([](Plan& p) { p.question.reset(); }) == "plan is not valid: it does not keep its question");
  CHECK(verdict([](PlanQuestion& q) { q.unit_of.pop_back(); }) ==
        "plan is not valid: its question does not fit it: units: found 2, wanted one for each of 3 nodes");
  CHECK(verdict([](PlanQuestion& q) { q.unit_of[2] = 0, q.problem.nodes = {2, 1, 0}; }) ==
        "plan is not valid: its question does not fit it: units: unit 2 of 3 has no node");
  CHECK(verdict([](PlanQuestion& q) { std::swap(q.unit_of[0], q.unit_of[1]); }) ==
        "plan is not valid: its question has other tensors between units than the plan");
  CHECK(verdict([](PlanQuestion& q) { q.copies[0] = {1}; }) == "plan is not valid: its question copies node 'a' into other units than the plan");
  CHECK(verdict([](PlanQuestion& q) { q.problem.bytes[0] = 1; }) == "plan is not valid: its question has other tensors between units than the plan");
  CHECK(verdict([](PlanQuestion& q) { q.problem.values[0] = SplitProblem::kOrder; }) ==
        "plan is not valid: its question has other tensors between units than the plan");
  CHECK(verdict([](PlanQuestion& q) { q.rules[q.rule_of[0]].limit = 1; }) ==
        "plan is not valid: its question gives the unit of node 'a' other devices than its rules");
  CHECK(verdict([](PlanQuestion& q) { q.problem.allow[1] = 2; }) ==
        "plan is not valid: its question gives the unit of node 'b' other devices than its rules");
  CHECK(verdict([](PlanQuestion& q) { q.rules[q.rule_of[1]].limit = 2, q.rules[q.rule_of[1]].otherwise = 2, q.problem.allow[1] = 2; }) ==
        "plan is not valid: its question does not let node 'b' go to CPU:0");
  CHECK(verdict([](PlanQuestion& q) { q.limits.parts = 1, q.limits.group.clear(); }) ==
        "plan is not valid: its question does not fit it: limits: they do not fit the units, tensors and devices");
}

TEST_CASE("the validator finds a plan whose parts would wait for each other") {
  Diamond d;  // the trap: both A nodes in one part encloses b
  CHECK(d.verdict([](Plan& p) {
          p.subgraphs[0].nodes = {0, 2};
          p.nodes[2].subgraph = 0;
          p.subgraphs.pop_back();
        }) == "plan is not valid: 'b_out' is read in subgraph 0 before subgraph 1 produces it");
}

TEST_CASE("the validator finds disobeyed wishes") {
  Diamond d;
  d.wish("b", {"NPU:0", "TPU:0"}, false);
  CHECK(validate(d.good, d.graph, d.request).message() == "plan is not valid: node 'b' is on CPU:0, wanted first of NPU:0, TPU:0");
  Diamond e;
  e.request.wishes[e.id_of("a")].devices = {*parse_device("CPU:0")};
  CHECK(validate(e.good, e.graph, e.request).message() == "plan is not valid: node 'a' is on NPU:0, wanted CPU:0");
  Diamond f;
  f.request.require_device = *parse_device("CPU:0");
  CHECK(validate(f.good, f.graph, f.request).message() == "plan is not valid: node 'a' is not on the required device");
  Diamond g;
  g.request.wishes.clear();
  CHECK(validate(g.good, g.graph, g.request).message() == "plan is not valid: node 'a' is on NPU:0, which takes only nodes that name it");
}

TEST_CASE("plans of random graphs over random answers, wishes and groups are always valid or refused with a sentence") {
  std::mt19937_64 random(12);
  const auto below = [&](uint64_t n) { return static_cast<uint32_t>(random() % n); };
  int made = 0, refused = 0, several = 0;
  for (int round = 0; round < 2000; ++round) {
    Setup s;
    s.npu.manifest_.operators = {FakePlugin::row("Relu"), FakePlugin::row("Add"), FakePlugin::row("Exp")};
    FakePlugin tpu("third", {"TPU"}, {"Relu", "Add", "Exp"});
    s.request.plugins.push_back(&tpu);
    std::vector<uint32_t> values = {s.input("x"), s.constant("w")};
    const uint32_t count = 1 + below(14);
    for (uint32_t n = 0; n < count; ++n) {
      const uint32_t a = values[below(values.size())], b = values[below(values.size())];
      values.push_back(s.node("n" + std::to_string(n), below(2) ? "Add" : "Exp", {a, b}));
    }
    const Uses uses = uses_of(s.graph);
    for (uint32_t v : values)
      if (v > 1 && (uses.consumers[v].empty() || below(6) == 0)) s.output(v);
    s.candidates({"NPU:0", "CPU:0", "TPU:0"});
    if (below(2)) s.request.candidates.pop_back();
    for (uint32_t n = 0; n < count; ++n) {
      const std::string name = "n" + std::to_string(n);
      for (FakePlugin* plugin : {&s.npu, &s.cpu, &tpu})
        if (below(4) == 0) plugin->refuse(s.id_of(name), OPTIMA_REASON_OTHER, "not this one");
      if (below(8) == 0) s.npu.verdicts[s.id_of(name)] = {s.id_of(name), OPTIMA_VERDICT_PREFER_ELSEWHERE, OPTIMA_REASON_POLICY, OPTIMA_NONE, "", "", "", "rather not"};
      if (below(5) == 0) s.wish(name, {below(2) ? "NPU:0" : "CPU:0"});
      else if (below(5) == 0) s.wish(name, {"TPU:0", "NPU:0", "CPU:0"}, false);
      if (n > 1 && below(4) == 0) s.npu.group(below(3), {s.id_of(name), s.id_of("n" + std::to_string(below(n)))});
    }
    const Result<Plan> plan = make_plan(s.graph, s.request);
    if (plan.ok()) {
      ++made;
      several += plan->subgraphs.size() > 2;
    } else {
      ++refused;
      CHECK(plan.status().kind() == StatusKind::Placement);
    }
  }
  CHECK(made > 500);
  CHECK(refused > 100);
  CHECK(several > 200);
}
