// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <map>

#include "core/report/report.hpp"
#include "core/report/table.hpp"
#include "core/support/text.hpp"

namespace optima {
namespace {

using detail::clean;
using detail::count_of;

std::string head(const Plan& plan) {
  size_t unknown = 0;
  for (const CutTensor& cut : plan.cuts) unknown += cut.bytes == 0;
  size_t clones = 0;
  for (const Subgraph& subgraph : plan.subgraphs) clones += subgraph.clones.size();
  std::string out = cat("placement of ", quote(plan.model_name), ": ", count_of(plan.nodes.size(), "node"), " in ",
                        count_of(plan.subgraphs.size(), "subgraph"));
  if (!plan.subgraphs.empty()) out += plan.exact ? " (the minimum)" : cat(" (proven minimum ", plan.lower_bound, ")");
  if (!plan.cuts.empty())
    out += cat("; ", count_of(plan.cuts.size(), "tensor"), plan.cuts.size() == 1 ? " crosses, " : " cross, ", human_bytes(plan.bytes));
  if (unknown) out += cat(" and ", unknown, " of unknown size");
  if (clones) out += cat("; ", count_of(clones, "node"), clones == 1 ? " is cloned" : " are cloned");
  return out + "\n";
}

std::string estimate(const Plan& plan) {
  if (!plan.estimate) return "";
  const PlanEstimate& e = *plan.estimate;
  char gap[32];
  std::snprintf(gap, sizeof gap, "%.1f %%", 100 * e.gap());
  return cat("estimated time of a run: ", human_time(e.total()), " (no plan below ", human_time(e.bound), ", gap ", gap, "): compute ",
             human_time(e.compute), ", launches ", human_time(e.launch), ", transfers ", human_time(e.transfer), "\n");
}

// What each device spends, and what a run would take with everything there that may be there.
std::vector<std::string> times(const Plan& plan, size_t d) {
  if (!plan.estimate) return {};
  const DeviceTime& time = plan.estimate->devices[d];
  return {human_time(time.compute + time.launch + time.transfer), time.alone ? human_time(*time.alone) : "-"};
}

std::string devices(const Plan& plan) {
  std::vector<std::vector<std::string>> rows = {{"device", "plugin", "nodes", "subgraphs"}};
  if (plan.estimate) rows[0].insert(rows[0].end(), {"time", "alone"});
  std::vector<size_t> nodes(plan.devices.size(), 0), subgraphs(plan.devices.size(), 0);
  for (const PlacedNode& node : plan.nodes) ++nodes[node.device];
  for (const Subgraph& subgraph : plan.subgraphs) ++subgraphs[subgraph.device];
  for (size_t d = 0; d < plan.devices.size(); ++d)
    rows.push_back({clean(plan.devices[d].name), is_host(plan.devices[d]) ? "-" : clean(plan.devices[d].plugin), cat(nodes[d]),
                    cat(subgraphs[d])});
  for (size_t d = 0; d < plan.devices.size(); ++d) {
    for (std::string& cell : times(plan, d)) rows[d + 1].push_back(std::move(cell));
    rows[d + 1].push_back(clean(plan.devices[d].rule));
  }
  return detail::table(rows, plan.estimate ? std::vector<size_t>{2, 3, 4, 5} : std::vector<size_t>{2, 3});
}

// Subgraphs run each time the model runs, and the fewest of any plan: bodies as often as they have trips.
struct Runs {
  int64_t subgraphs = 0, least = 0;
};
void count_runs(const Plan& plan, int64_t times, Runs& out) {
  out.subgraphs += times * static_cast<int64_t>(plan.subgraphs.size());
  out.least += times * plan.lower_bound;
  for (const BodyPlan& body : plan.bodies) count_runs(body.plan, times * body.trips, out);
}

std::string device_counts(const Plan& plan) {
  std::vector<std::string> out;
  for (uint32_t d = 0; d < plan.devices.size(); ++d) {
    size_t nodes = 0;
    for (const PlacedNode& node : plan.nodes) nodes += node.device == d;
    if (nodes) out.push_back(cat(nodes, " on ", clean(plan.devices[d].name)));
  }
  return join(out);
}

void add_body_rows(const Plan& plan, const std::string& inset, std::vector<std::vector<std::string>>& rows) {
  for (const BodyPlan& body : plan.bodies) {
    const size_t subgraphs = body.plan.subgraphs.size();
    const std::string numbers = subgraphs == 0   ? "-"
                                : subgraphs == 1 ? cat(body.plan.first)
                                                 : cat(body.plan.first, " to ", body.plan.first + subgraphs - 1);
    const bool is_loop = plan.nodes[body.node].op_type != "If";
    rows.push_back({cat(inset, clean(plan.nodes[body.node].name), " ", clean(body.name)), cat(body.plan.nodes.size()), cat(subgraphs),
                    cat(body.plan.lower_bound), numbers, !is_loop ? "-" : body.trips_known ? cat(body.trips) : "1, not known",
                    device_counts(body.plan)});
    add_body_rows(body.plan, inset + "  ", rows);
  }
}

std::string bodies(const Plan& plan) {
  if (plan.bodies.empty()) return "";
  std::vector<std::vector<std::string>> rows = {{"body", "nodes", "subgraphs", "minimum", "numbers", "trips", "nodes by device"}};
  add_body_rows(plan, "", rows);
  Runs runs;
  count_runs(plan, 1, runs);
  return cat("bodies of nodes that the host drives:\n", detail::table(rows, {1, 2, 3}), "in all ", count_of(count_subgraphs(plan), "subgraph"),
             ", run ", runs.subgraphs, " times (minimum ", runs.least, "), both branches of an If counted and unknown trips as 1\n");
}

struct Missed {
  std::vector<std::string> nodes;
  std::string sentence;  // of the first
  bool same = true;      // of all
};

// Nodes of one operator that were asked for the same and got the same are told of together.
std::string not_as_asked(const Plan& plan) {
  std::map<std::string, Missed> groups;
  std::vector<std::string> order;
  for_each_plan(plan, [&](const Plan& part, const std::string&) {
    for (const PlacedNode& node : part.nodes) {
      if (node.as_asked) continue;
      const std::string what = cat(" (", clean(node.op_type), "): asked for ", clean(node.asked));
      const auto [at, is_new] = groups.try_emplace(cat(what, "\n", part.devices[node.device].full_name));
      if (is_new) order.push_back(at->first), at->second.sentence = clean(node.sentence);
      at->second.nodes.push_back(quote(node.name));
      at->second.same &= clean(node.sentence) == at->second.sentence;
    }
  });
  std::string out = order.empty() ? "" : "not on the device asked for:\n";
  for (const std::string& key : order) {
    const Missed& missed = groups.at(key);
    out += cat("  ", join_few(missed.nodes), key.substr(0, key.find('\n')), "; ", missed.same ? "" : "of the first: ", missed.sentence, "\n");
  }
  return out;
}

// Cut tensors that do not go through the usual door, bodies' included.
std::string doors(const Plan& plan) {
  constexpr size_t kMostShown = 12;
  std::string out;
  size_t count = 0;
  for_each_plan(plan, [&](const Plan& part, const std::string& body) {
    for (const CutTensor& cut : part.cuts)
      if (!cut.door.is_usual() && ++count <= kMostShown)
        out += cat("cut ", quote(cut.name), body.empty() ? "" : cat(" in ", clean(body)), ": ", detail::door_of(cut), "\n");
  });
  return count > kMostShown ? cat(out, "... and ", count - kMostShown, " more\n") : out;
}

std::string notes(const Plan& plan) {
  std::vector<std::string> said;  // what the main graph's notes say already is not said again of a body
  std::string out;
  for_each_plan(plan, [&](const Plan& part, const std::string& body) {
    for (const std::string& note : part.notes) {
      if (std::find(said.begin(), said.end(), note) != said.end()) continue;
      said.push_back(note);
      out += cat("note: ", body.empty() ? "" : cat("in ", clean(body), ": "), clean(note), "\n");
    }
  });
  return out;
}

}  // namespace

std::string placement_summary(const Plan& plan) {
  return cat(head(plan), estimate(plan), devices(plan), bodies(plan), doors(plan), not_as_asked(plan), notes(plan));
}

}  // namespace optima
