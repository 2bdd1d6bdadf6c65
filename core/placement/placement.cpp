// SPDX-License-Identifier: Apache-2.0
#include "core/placement/placement.hpp"

#include "core/placement/assemble.hpp"
#include "core/placement/candidates.hpp"
#include "core/placement/capability.hpp"
#include "core/placement/limits_of.hpp"
#include "core/placement/node_costs.hpp"
#include "core/placement/split.hpp"
#include "core/placement/units.hpp"
#include "core/placement/validate.hpp"
#include "core/support/text.hpp"

namespace optima {
namespace {

// Passes remove what nobody reads; such a node would make a subgraph without outputs.
Status check_all_read(const Graph& graph, const Uses& uses) {
  std::vector<uint8_t> read(graph.main().values.size(), 0);
  for (uint32_t v : graph.main().outputs) read[v] = 1;
  for (uint32_t v = 0; v < read.size(); ++v) read[v] |= !uses.consumers[v].empty();
  for (const image::Node& node : graph.main().nodes) {
    bool any = false;
    for (uint32_t v : node.outputs) any |= v != OPTIMA_NONE && read[v];
    if (!any) return internal_error(cat("placement: node ", quote(node.name), " has no output that is read, wanted a graph without dead nodes"));
  }
  return {};
}

// A body's nodes run where the node that holds it runs.
void add_bodies(const Graph& graph, const image::Node& holder, const std::string& device, std::vector<std::pair<std::string, std::string>>& out) {
  for_each_body(holder, [&](uint32_t body) {
    for (const image::Node& inner : graph.contents.graphs[body].nodes) {
      out.emplace_back(inner.name, device);
      add_bodies(graph, inner, device, out);
    }
  });
}

}  // namespace

Result<Plan> make_plan(const Graph& graph, const PlacementRequest& request) {
  const Uses uses = uses_of(graph);
  OPTIMA_RETURN_IF_ERROR(check_all_read(graph, uses));
  OPTIMA_ASSIGN(const detail::Candidates candidates, detail::find_candidates(graph, request));
  const PackedGraph packed = pack(graph);
  OPTIMA_ASSIGN(detail::Capability capability, detail::ask_all(graph, packed, candidates, request));
  OPTIMA_ASSIGN(const detail::Choices choices, detail::settle(graph, uses, candidates, request, capability));
  const SplitProblem problem = detail::problem_of(graph, uses, candidates, capability, choices);
  if (!problem.well_formed()) return internal_error("placement: the nodes of the graph are not in topological order");
  const SplitLimits limits = detail::limits_of(graph, candidates, request, choices, problem);
  Plan plan;
  LimitedSplit found;
  if (request.objective == Objective::Parts) {
    found = limits.any() ? split_within(problem, limits) : LimitedSplit{split(problem), {}, {}};
    if (found.conflict) return detail::conflict_error(graph, candidates, request, choices, *found.conflict);
    plan = detail::assemble(graph, uses, candidates, capability, choices, found.split, !limits.any());
  } else {
    OPTIMA_ASSIGN(plan, detail::plan_by_time(graph, packed, uses, candidates, capability, choices, problem, limits, request, found));
  }
  detail::add_reasons(plan, graph, candidates, request, std::move(capability), choices, found);
  OPTIMA_RETURN_IF_ERROR(validate(plan, graph, request));
  return plan;
}

std::string allocation_of(const Plan& plan, const Graph& graph) {
  std::vector<std::pair<std::string, std::string>> entries;
  for (const PlacedNode& node : plan.nodes) entries.emplace_back(node.name, plan.devices[node.device].name);
  for (uint32_t n = 0; n < plan.nodes.size(); ++n) add_bodies(graph, graph.main().nodes[n], plan.devices[plan.nodes[n].device].name, entries);
  for (const Folded& folded : graph.folded) entries.emplace_back(folded.name, "auto");
  return allocation_text(entries);
}

}  // namespace optima
