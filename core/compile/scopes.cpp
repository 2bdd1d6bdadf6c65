// SPDX-License-Identifier: Apache-2.0
#include "core/compile/scopes.hpp"

#include "core/placement/placement.hpp"

namespace optima::detail {
namespace {

void add_scope(const Plan& plan, PlanScope scope, std::vector<PlanScope>& out) {
  scope.plan = &plan;
  scope.uses = uses_of(*scope.graph);
  const Graph& graph = *scope.graph;
  out.push_back(std::move(scope));
  for (const BodyPlan& body : plan.bodies) {
    BodyGraph made = body_of(graph, body);
    PlanScope inside;
    inside.own = std::make_unique<Graph>(std::move(made.graph));
    inside.graph = inside.own.get();
    inside.captured = std::move(made.captured);
    add_scope(body.plan, std::move(inside), out);
  }
}

}  // namespace

std::vector<PlanScope> scopes_of(const Planned& planned) {
  std::vector<PlanScope> out;
  PlanScope main;
  main.graph = &planned.graph;
  add_scope(planned.plan, std::move(main), out);
  return out;
}

std::vector<Numbered> numbered(const std::vector<PlanScope>& scopes) {
  std::vector<Numbered> out;
  for (uint32_t s = 0; s < scopes.size(); ++s)
    for (uint32_t i = 0; i < scopes[s].plan->subgraphs.size(); ++i) out.push_back({s, i});
  return out;
}

}  // namespace optima::detail
