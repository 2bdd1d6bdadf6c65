// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "core/report/diff.hpp"
#include "core/report/table.hpp"
#include "core/support/json_value.hpp"
#include "core/support/text.hpp"

namespace optima {
namespace {

using detail::clean;
using detail::count_of;

constexpr size_t kMostShown = 200;  // nodes in the text; the document has all

// Two plans may call one device by different names, and different devices by one.
std::string device_text(const Plan& plan, uint32_t node, const Plan& other, uint32_t other_node) {
  const PlanDevice &device = plan.devices[plan.nodes[node].device], &there = other.devices[other.nodes[other_node].device];
  return clean(device.name == there.name && device.full_name != there.full_name ? device.full_name : device.name);
}

std::string change(const std::string& a, const std::string& b) { return a == b ? a : cat(a, " -> ", b); }

std::string numbers(const Plan& before, const Plan& after) {
  std::string out = cat("subgraphs ", change(cat(before.subgraphs.size()), cat(after.subgraphs.size())));
  if (!before.bodies.empty() || !after.bodies.empty())
    out += cat(" (with bodies ", change(cat(count_subgraphs(before)), cat(count_subgraphs(after))), ")");
  return cat(out, "; tensors crossing ", change(cat(before.cuts.size()), cat(after.cuts.size())), ", ",
             change(human_bytes(before.bytes), human_bytes(after.bytes)));
}

// Estimated time of a run on both sides, where either has one.
std::string time(const Plan& before, const Plan& after) {
  if (!before.estimate && !after.estimate) return "";
  const auto text = [](const Plan& plan) { return plan.estimate ? human_time(plan.estimate->total()) : std::string("not known"); };
  std::string out = cat("estimated time of a run: ", change(text(before), text(after)));
  if (before.estimate && after.estimate)
    if (const double slower = after.estimate->total() - before.estimate->total(); slower != 0)
      out += cat(slower < 0 ? ", faster by " : ", slower by ", human_time(std::abs(slower)));
  return out + "\n";
}

std::string lonely(const Plan& plan, const std::vector<uint32_t>& nodes, std::string_view where) {
  if (nodes.empty()) return "";
  std::vector<std::string> names;
  for (uint32_t n : nodes) names.push_back(quote(plan.nodes[n].name));
  return cat("only in the ", where, " plan: ", detail::shortened(names, 10), "\n");
}

std::string path_of(const Plan& plan, uint32_t body) { return cat(plan.nodes[plan.bodies[body].node].name, "/", plan.bodies[body].name); }

std::string lonely_bodies(const Plan& plan, const std::vector<uint32_t>& bodies, std::string_view where) {
  std::string out;
  for (uint32_t b : bodies)
    out += cat("body ", quote(clean(path_of(plan, b))), " has a plan only in the ", where, " plan: ",
               count_of(plan.bodies[b].plan.nodes.size(), "node"), " in ", count_of(count_subgraphs(plan.bodies[b].plan), "subgraph"), "\n");
  return out;
}

std::string moved_nodes(const Plan& before, const Plan& after, const PlanDiff& diff) {
  std::vector<std::vector<std::string>> rows;
  for (const PlanDiff::Change& c : diff.changes) {
    if (!c.moved || rows.size() == kMostShown) continue;
    const PlacedNode &a = before.nodes[c.before], &b = after.nodes[c.after];
    rows.push_back({quote(clean(a.name)), clean(b.op_type),
                    cat(device_text(before, c.before, after, c.after), " -> ", device_text(after, c.after, before, c.before)),
                    cat("before: ", clean(a.sentence), "; now: ", clean(b.sentence))});
  }
  std::string out = detail::table(rows);
  if (diff.moved > rows.size()) out += cat("  ... and ", diff.moved - rows.size(), " more (--json has all)\n");
  if (const size_t same = diff.changes.size() - diff.moved)
    out += cat(count_of(same, "node"), same == 1 ? " stays on its device" : " stay on their device", " in a subgraph of another number\n");
  return out;
}

// "3 of 16 nodes moved (2 more in bodies)", the numbers, every node that moved; then body by body.
std::string changes(const Plan& before, const Plan& after, const PlanDiff& diff) {
  const size_t inside = diff.counts().moved - diff.moved;
  std::string out = cat(diff.moved, " of ", count_of(before.nodes.size(), "node"), " moved", inside ? cat(" (", inside, " more in bodies)") : "", "; ",
                        numbers(before, after), "\n", time(before, after), moved_nodes(before, after, diff),
                        lonely(before, diff.only_before, "first"), lonely(after, diff.only_after, "second"));
  for (const BodyDiff& body : diff.bodies)
    if (!body.diff.equal())
      out += cat("body ", quote(clean(path_of(before, body.before))), ": ",
                 changes(before.bodies[body.before].plan, after.bodies[body.after].plan, body.diff));
  return out + lonely_bodies(before, diff.bodies_before, "first") + lonely_bodies(after, diff.bodies_after, "second");
}

Json side_json(const Plan& plan) {
  Json out = {{"model", plan.model_name}, {"hash", plan.model_hash}, {"subgraphs", plan.subgraphs.size()},
              {"subgraphs_with_bodies", count_subgraphs(plan)}, {"cuts", plan.cuts.size()}, {"bytes", plan.bytes}};
  if (plan.estimate) out["microseconds"] = plan.estimate->total();
  return out;
}

Json place_json(const Plan& plan, uint32_t n) {
  const PlacedNode& node = plan.nodes[n];
  return {{"device", plan.devices[node.device].full_name}, {"subgraph", plan.first + node.subgraph}, {"why", name_of(node.why)},
          {"sentence", node.sentence}};
}

Json names_json(const Plan& plan, const std::vector<uint32_t>& nodes) {
  Json out = Json::array();
  for (uint32_t n : nodes) out.push_back(plan.nodes[n].name);
  return out;
}

Json paths_json(const Plan& plan, const std::vector<uint32_t>& bodies) {
  Json out = Json::array();
  for (uint32_t b : bodies) out.push_back(path_of(plan, b));
  return out;
}

}  // namespace

std::string diff_text(const Plan& before, const Plan& after, const PlanDiff& diff) {
  std::string out = cat("plans of ", quote(before.model_name));
  if (!diff.same_model) out += cat(" and ", quote(after.model_name), ", which are different models");
  if (diff.equal())
    return cat(out, ": equal, ", count_of(before.nodes.size(), "node"), " in ", count_of(before.subgraphs.size(), "subgraph"), "\n",
               time(before, after));
  return cat(out, ": ", changes(before, after, diff));
}

Json diff_json(const Plan& before, const Plan& after, const PlanDiff& diff) {
  Json changes = Json::array(), bodies = Json::array();
  for (const PlanDiff::Change& c : diff.changes)
    changes.push_back({{"name", before.nodes[c.before].name}, {"op", before.nodes[c.before].op_type}, {"moved", c.moved},
                       {"before", place_json(before, c.before)}, {"after", place_json(after, c.after)}});
  for (const BodyDiff& body : diff.bodies)
    if (!body.diff.equal())
      bodies.push_back({{"body", path_of(before, body.before)},
                        {"diff", diff_json(before.bodies[body.before].plan, after.bodies[body.after].plan, body.diff)}});
  Json out = {{"equal", diff.equal()},       {"same_model", diff.same_model}, {"moved", diff.moved},
              {"before", side_json(before)}, {"after", side_json(after)},     {"changes", std::move(changes)},
              {"only_before", names_json(before, diff.only_before)},          {"only_after", names_json(after, diff.only_after)}};
  if (before.bodies.empty() && after.bodies.empty()) return out;
  out["bodies"] = std::move(bodies);
  out["bodies_only_before"] = paths_json(before, diff.bodies_before);
  out["bodies_only_after"] = paths_json(after, diff.bodies_after);
  return out;
}

}  // namespace optima
