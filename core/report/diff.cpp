// SPDX-License-Identifier: Apache-2.0
#include "core/report/diff.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_map>

namespace optima {
namespace {

void match_nodes(const Plan& before, const Plan& after, PlanDiff& out) {
  std::unordered_map<std::string_view, uint32_t> there;
  for (uint32_t n = 0; n < after.nodes.size(); ++n) there.emplace(after.nodes[n].name, n);
  std::vector<uint8_t> matched(after.nodes.size(), 0);
  for (uint32_t n = 0; n < before.nodes.size(); ++n) {
    const auto at = there.find(before.nodes[n].name);
    if (at == there.end()) {
      out.only_before.push_back(n);
      continue;
    }
    const PlacedNode &a = before.nodes[n], &b = after.nodes[at->second];
    matched[at->second] = 1;
    const bool moved = before.devices[a.device].full_name != after.devices[b.device].full_name;
    if (moved || a.subgraph != b.subgraph) out.changes.push_back({n, at->second, moved});
    out.moved += moved;
  }
  for (uint32_t n = 0; n < after.nodes.size(); ++n)
    if (!matched[n]) out.only_after.push_back(n);
}

void match_bodies(const Plan& before, const Plan& after, PlanDiff& out) {
  std::vector<uint8_t> matched(after.bodies.size(), 0);
  for (uint32_t a = 0; a < before.bodies.size(); ++a) {
    const auto same = [&](const BodyPlan& b) {
      return b.name == before.bodies[a].name && after.nodes[b.node].name == before.nodes[before.bodies[a].node].name;
    };
    const auto at = std::find_if(after.bodies.begin(), after.bodies.end(), same);
    if (at == after.bodies.end()) {
      out.bodies_before.push_back(a);
      continue;
    }
    const auto b = static_cast<uint32_t>(at - after.bodies.begin());
    matched[b] = 1;
    out.bodies.push_back({a, b, diff(before.bodies[a].plan, at->plan)});
  }
  for (uint32_t b = 0; b < after.bodies.size(); ++b)
    if (!matched[b]) out.bodies_after.push_back(b);
}

}  // namespace

bool PlanDiff::equal() const {
  const bool own = same_model && changes.empty() && only_before.empty() && only_after.empty() && bodies_before.empty() && bodies_after.empty();
  return own && std::all_of(bodies.begin(), bodies.end(), [](const BodyDiff& body) { return body.diff.equal(); });
}

PlanDiff::Counts PlanDiff::counts() const {
  Counts out{moved, changes.size() - moved, only_before.size() + only_after.size()};
  for (const BodyDiff& body : bodies) {
    const Counts inside = body.diff.counts();
    out.moved += inside.moved, out.renumbered += inside.renumbered, out.lonely += inside.lonely;
  }
  return out;
}

PlanDiff diff(const Plan& before, const Plan& after) {
  PlanDiff out;
  out.same_model = before.model_hash == after.model_hash;
  match_nodes(before, after, out);
  match_bodies(before, after, out);
  return out;
}

}  // namespace optima
