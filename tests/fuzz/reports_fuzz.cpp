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
#include "tests/view/plans.hpp"

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

// A body, a clone, limits, times and a memory limit.
Plan rich_plan() {
  Plan plan = made_plan_with_body();
  clone_for(plan, 1, 3);
  plan.devices[0].limits.max_nodes = 4, plan.devices[0].limits.memory = 200, plan.devices[1].limits.max_subgraphs = 3;
  plan.max_subgraphs = 6;
  for (PlacedNode& node : plan.nodes) {
    node.held = 16;
    for (DeviceAnswer& answer : node.answers) answer.microseconds = 2, answer.cost_source = "given";
  }
  plan.estimate = PlanEstimate{10, 4, 2, 9, {{5, 2, 1, 1, 12.0}, {5, 2, 1, 1, {}}, {0, 0, 0, 0, {}}}, {{0, 1, 0.5, 0.01}, {1, 0, 0.5, 0.01}}};
  return plan;
}

}  // namespace

TEST_CASE("plans with changed numbers are refused with a place, or reported and drawn") {
  Random random(3);
  for (const bool by_time : {true, false}) {
    Plan made = rich_plan();
    if (!by_time) made.estimate.reset();
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
