// SPDX-License-Identifier: Apache-2.0
#include "core/placement/placement.hpp"

#include <set>

#include "core/flow/node.hpp"
#include "core/placement/advice.hpp"
#include "core/placement/assemble.hpp"
#include "core/placement/budget.hpp"
#include "core/placement/candidates.hpp"
#include "core/placement/capability.hpp"
#include "core/placement/host_driven.hpp"
#include "core/placement/limits_of.hpp"
#include "core/placement/node_costs.hpp"
#include "core/placement/units.hpp"
#include "core/plan/validate.hpp"
#include "core/split/split.hpp"
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
void add_bodies(const Graph& graph, const image::Node& holder, const std::string& device, std::vector<AllocationLine>& out) {
  for_each_body(holder, [&](uint32_t body) {
    for (const image::Node& inner : graph.contents.graphs[body].nodes) {
      out.push_back({inner.name, device});
      add_bodies(graph, inner, device, out);
    }
  });
}

// A node with clones lists its device first, then theirs, each once. What a quantized unit copies follows from the units.
void add_clones(const Plan& plan, size_t first, std::vector<AllocationLine>& out) {
  std::set<std::pair<uint32_t, uint32_t>> seen;
  for (const Subgraph& subgraph : plan.subgraphs)
    for (const Clone& clone : subgraph.clones) {
      const PlacedNode& node = plan.nodes[clone.node];
      if (node.copied.empty() && node.device != subgraph.device && seen.emplace(clone.node, subgraph.device).second)
        out[first + clone.node].device += "," + plan.devices[subgraph.device].name;
    }
}

// Main graph first, then the bodies of nodes that go whole, then the plans of the others.
void add_plan(const Plan& plan, const Graph& graph, std::vector<AllocationLine>& out) {
  const size_t first = out.size();
  for (const PlacedNode& node : plan.nodes) out.push_back({node.name, plan.devices[node.device].name, node.precision});
  add_clones(plan, first, out);
  for (uint32_t n = 0; n < plan.nodes.size(); ++n)
    if (const PlanDevice& device = plan.devices[plan.nodes[n].device]; !is_host(device)) add_bodies(graph, graph.main().nodes[n], device.name, out);
  for (const BodyPlan& body : plan.bodies) add_plan(body.plan, body_of(graph, body).graph, out);
}

Result<Plan> plan_graph(const Graph& graph, const PlacementRequest& request, detail::Budget& budget);

// The bodies of every node that the host drives, each as a graph of its own.
Result<std::vector<BodyPlan>> plan_bodies(const Graph& graph, const PlacementRequest& request, const detail::HostDriven& host,
                                          detail::Budget& budget) {
  std::vector<BodyPlan> out;
  for (const auto& [n, why] : host.why) {
    const image::Node& node = graph.main().nodes[n];
    PlacementRequest inside = request;
    static_cast<PlanTerms&>(inside) = terms_for_bodies(graph, node, request);
    if (!inside.sizes_of_model) inside.sizes_of_model = detail::sizes_wanted(graph, request);
    const std::optional<int64_t> trips = detail::known_trips(graph, node);
    for (const image::Attr* attr : bodies_in_order(node, *flow_op(node))) {
      Result<Plan> body = plan_graph(body_graph(graph, attr->refs[0]).graph, inside, budget);
      if (!body.ok()) return body.status().within(cat("node ", quote(node.name), ", which the host drives (", why, ")"));
      out.push_back({n, attr->name, trips.value_or(1), trips.has_value(), std::move(*body)});
    }
  }
  return out;
}

Result<Plan> plan_graph(const Graph& graph, const PlacementRequest& request, detail::Budget& budget) {
  const size_t number = budget.enter();
  const Uses uses = uses_of(graph);
  OPTIMA_RETURN_IF_ERROR(check_all_read(graph, uses));
  OPTIMA_ASSIGN(detail::Candidates candidates, detail::find_candidates(graph, request));
  const PackedGraph packed = pack(graph);
  OPTIMA_ASSIGN(detail::Capability capability, detail::ask_all(graph, packed, candidates, request));
  budget.refuse(number, candidates, capability);
  OPTIMA_RETURN_IF_ERROR(detail::find_host_driven(graph, request, candidates, capability));
  OPTIMA_ASSIGN(detail::Choices choices, detail::settle(graph, uses, candidates, request, capability));
  PlanQuestion question = detail::question_of(graph, request.at_opt ? *request.at_opt : graph, uses, candidates, capability, choices);
  if (!question.problem.well_formed()) return internal_error("placement: the nodes of the graph are not in topological order");
  OPTIMA_ASSIGN(std::vector<BodyPlan> bodies, plan_bodies(graph, request, capability.host, budget));
  question.limits = detail::limits_of(graph, candidates, request, choices, question.problem);
  budget.limit(number, candidates, question.limits);
  Plan plan;
  LimitedSplit found;
  if (request.objective == Objective::Parts) {
    const bool limited = question.limits.any();
    found = limited ? split_within(question.problem, question.limits) : LimitedSplit{split(question.problem), {}, {}};
    if (found.conflict) return detail::conflict_error(graph, candidates, request, choices, *found.conflict);
    plan = detail::assemble(graph, detail::works_at(graph, request), uses, candidates, capability, choices, found.split, !limited);
  } else {
    OPTIMA_ASSIGN(plan, detail::plan_by_time(graph, packed, uses, candidates, capability, choices, question, bodies, request, found));
  }
  detail::add_reasons(plan, graph, candidates, request, std::move(capability), choices, found);
  plan.bodies = std::move(bodies);
  plan.question = std::move(question);
  return plan;
}

// Plans again with smaller shares until the graphs of the model together keep what is limited for the whole.
Status keep_budget(const Graph& graph, const PlacementRequest& request, detail::Budget& budget, Plan& plan) {
  while (!budget.kept(plan)) {
    if (!budget.lower(plan)) return budget.error(plan);
    budget.restart();
    Result<Plan> next = plan_graph(graph, request, budget);
    if (next.ok()) plan = std::move(*next);
    else if (next.status().kind() == StatusKind::Placement) budget.take_back();
    else return next.status();
  }
  budget.share_out(plan);
  return {};
}

// Where precisions were asked for, the nodes of the model's main graph have one, and those that quantizing put in have none: the source model
// does not know their names.
void drop_inserted(const Plan& plan, std::vector<AllocationLine>& lines) {
  std::set<std::string_view> inserted;
  for (const PlacedNode& node : plan.nodes)
    if (node.precision.empty()) inserted.insert(node.name);
  if (inserted.size() == plan.nodes.size()) return;
  std::erase_if(lines, [&](const AllocationLine& line) { return inserted.count(line.name) > 0; });
}

uint32_t number_subgraphs(Plan& plan, uint32_t first) {
  plan.first = first;
  first += static_cast<uint32_t>(plan.subgraphs.size());
  for (BodyPlan& body : plan.bodies) first = number_subgraphs(body.plan, first);
  return first;
}

}  // namespace

Result<Plan> make_plan(const Graph& graph, const PlacementRequest& request) {
  if (!request.answers) {
    PlacementRequest keeping = request;
    keeping.answers = std::make_shared<PluginAnswers>();
    return make_plan(graph, keeping);
  }
  detail::Budget budget(request);
  OPTIMA_ASSIGN(Plan plan, plan_graph(graph, request, budget));
  OPTIMA_RETURN_IF_ERROR(keep_budget(graph, request, budget, plan));
  number_subgraphs(plan, 0);
  OPTIMA_RETURN_IF_ERROR(validate(plan, graph, request));
  return plan;
}

std::string allocation_of(const Plan& plan, const Graph& graph) {
  std::vector<AllocationLine> lines;
  add_plan(plan, graph, lines);
  drop_inserted(plan, lines);
  for (const Folded& folded : graph.folded) lines.push_back({folded.name, "auto"});
  return allocation_text(lines);
}

}  // namespace optima
