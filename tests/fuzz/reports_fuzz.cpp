// SPDX-License-Identifier: Apache-2.0
// tests/fuzz: plans whose numbers were changed. What is read is drawn, explained, compared and asked what if without a crash.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "core/plan/plan_json.hpp"
#include "core/report/diff.hpp"
#include "core/report/report.hpp"
#include "core/report/what_if.hpp"
#include "core/view/view.hpp"
#include "tests/unit/placement/placing.hpp"

using namespace optima;
using namespace optima::test;

namespace {

using Random = std::mt19937_64;

void collect_numbers(Json& json, std::vector<Json*>& out) {
  if (json.is_number()) out.push_back(&json);
  if (json.is_structured())
    for (Json& inner : json) collect_numbers(inner, out);
}

// One to four numbers become others: small, as any index is, or beyond all.
Json changed(Random& random, const Json& whole) {
  static const int64_t kOdd[] = {-1, 0, 1, 64, 255, 1000000, int64_t{1} << 32, INT64_MAX};
  Json out = whole;
  std::vector<Json*> numbers;
  collect_numbers(out, numbers);
  for (uint64_t n = random() % 4 + 1; n > 0; --n)
    *numbers[random() % numbers.size()] = random() % 3 ? static_cast<int64_t>(random() % 12) : kOdd[random() % std::size(kOdd)];
  return out;
}

// What a plan can hold: a body, a node that two quantized units run, a group, lists, limits of all kinds and times.
struct Rich : Setup {
  Rich() {
    for (FakePlugin* plugin : {&npu, &cpu}) {
      std::erase_if(plugin->manifest_.operators, [](const OperatorRow& row) { return row.op == "If"; });
      for (const char* op : {"QuantizeLinear", "DequantizeLinear", "Conv"}) plugin->manifest_.operators.push_back(FakePlugin::row(op));
    }
    const uint32_t scale = constant("scale"), zero = constant("zero"), x = input("x");
    const auto small = [&](uint32_t v) { return graph.main().values[v].dtype = OPTIMA_I8, v; };
    const uint32_t q = small(node("q", "QuantizeLinear", {x, scale, zero})), dq = node("dq", "DequantizeLinear", {q, scale, zero});
    for (const std::string side : {"left", "right"}) output(small(node("q_" + side, "QuantizeLinear", {node(side, "Conv", {dq}), scale, zero})));
    const uint32_t a = node("a", "Relu", {x}), b = node("b", "Exp", {a}), c = node("c", "Relu", {b}), y = node("if_1", "If", {c});
    for (const std::string branch : {"then_branch", "else_branch"}) {
      const uint32_t inside = body(branch, {a});
      graph.contents.graphs[inside].outputs = {node("if_1/" + branch + "/exp", "Exp", {node("if_1/" + branch + "/relu", "Relu", {0}, inside)}, inside)};
    }
    output(node("d", "Add", {y, c}));
    wish("left", {"NPU:0", "CPU:0"}, false);
    wish("b", {"CPU:0"});
    npu.refuse(id_of("q_right"), OPTIMA_REASON_DTYPE, "no");
    npu.group(1, {id_of("c"), id_of("d")});
    npu.manifest_.limits = {.max_subgraphs = 6, .max_nodes = 6, .max_io = 8, .memory = 400, .connected_only = true, .not_first = {"Neg"},
                            .not_last = {"Neg"}};
    request.max_subgraphs = 20;
    candidates({"NPU:0", "CPU:0"});
    request.settings = {{request.candidates[0], {}, 1000, 10, 1, 1}, {request.candidates[1], {}, 0, 1, 1, 0}};
    request.links = {{request.candidates[0], request.candidates[1], 2, 1}, {request.candidates[1], request.candidates[0], 2, 1}};
  }
};

}  // namespace

TEST_CASE("plans with changed numbers are refused with a place, or reported and drawn") {
  Random random(3);
  for (const bool by_time : {true, false}) {
    Rich rich;
    rich.request.objective = by_time ? Objective::Latency : Objective::Parts;
    const Plan made = rich.plan();
    REQUIRE(made.bodies.size() == 2);
    REQUIRE_FALSE(made.question->copies.empty());
    REQUIRE(what_if(made)->subgraphs == count_subgraphs(made));
    const Json whole = plan_to_json(made);
    int read = 0;
    for (int i = 0; i < 4000; ++i) {
      const Result<Plan> plan = plan_from_json(changed(random, whole), "plan.json");
      if (!plan.ok()) {
        CHECK(plan.status().kind() == StatusKind::InvalidInput);
        continue;
      }
      ++read;
      const Result<WhatIfReport> report = what_if(*plan);
      if (!report.ok()) CHECK(report.status().kind() == StatusKind::InvalidInput);
      CHECK_FALSE(explain_plan(*plan).empty());
      CHECK(explain_node(*plan, plan->nodes[random() % plan->nodes.size()].name).ok());
      CHECK_FALSE(diff_text(made, *plan, diff(made, *plan)).empty());
      CHECK(view::to_html(*plan, {}, report.ok() ? &*report : nullptr).ok());
      CHECK_FALSE(view::to_dot(*plan).empty());
    }
    MESSAGE("of 4000: " << read << " read");
    CHECK(read > 400);
  }
}
