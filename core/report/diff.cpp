// SPDX-License-Identifier: Apache-2.0
#include "core/report/diff.hpp"

#include <nlohmann/json.hpp>
#include <string_view>
#include <unordered_map>

#include "core/report/table.hpp"
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

std::string numbers(const Plan& before, const Plan& after) {
  const auto change = [](const std::string& a, const std::string& b) { return a == b ? a : cat(a, " -> ", b); };
  return cat("subgraphs ", change(cat(before.subgraphs.size()), cat(after.subgraphs.size())), "; tensors crossing ",
             change(cat(before.cuts.size()), cat(after.cuts.size())), ", ", change(human_bytes(before.bytes), human_bytes(after.bytes)));
}

std::string lonely(const Plan& plan, const std::vector<uint32_t>& nodes, std::string_view where) {
  if (nodes.empty()) return "";
  std::vector<std::string> names;
  for (uint32_t n : nodes) names.push_back(quote(plan.nodes[n].name));
  return cat("only in the ", where, " plan: ", detail::shortened(names, 10), "\n");
}

Json side_json(const Plan& plan) {
  return {{"model", plan.model_name}, {"hash", plan.model_hash}, {"subgraphs", plan.subgraphs.size()}, {"cuts", plan.cuts.size()}, {"bytes", plan.bytes}};
}

Json place_json(const Plan& plan, uint32_t n) {
  const PlacedNode& node = plan.nodes[n];
  return {{"device", plan.devices[node.device].full_name}, {"subgraph", node.subgraph}, {"why", name_of(node.why)}, {"sentence", node.sentence}};
}

Json names_json(const Plan& plan, const std::vector<uint32_t>& nodes) {
  Json out = Json::array();
  for (uint32_t n : nodes) out.push_back(plan.nodes[n].name);
  return out;
}

}  // namespace

PlanDiff diff(const Plan& before, const Plan& after) {
  PlanDiff out;
  out.same_model = before.model_hash == after.model_hash;
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
  return out;
}

std::string diff_text(const Plan& before, const Plan& after, const PlanDiff& diff) {
  std::string out = cat("plans of ", quote(before.model_name), diff.same_model ? "" : cat(" and ", quote(after.model_name), ", which are different models"), ": ");
  if (diff.equal()) return cat(out, "equal, ", count_of(before.nodes.size(), "node"), " in ", count_of(before.subgraphs.size(), "subgraph"), "\n");
  out += cat(diff.moved, " of ", count_of(before.nodes.size(), "node"), " moved; ", numbers(before, after), "\n");
  std::vector<std::vector<std::string>> rows;
  for (const PlanDiff::Change& c : diff.changes) {
    if (!c.moved || rows.size() == kMostShown) continue;
    const PlacedNode &a = before.nodes[c.before], &b = after.nodes[c.after];
    rows.push_back({quote(a.name), clean(b.op_type), cat(device_text(before, c.before, after, c.after), " -> ", device_text(after, c.after, before, c.before)),
                    cat("before: ", clean(a.sentence), "; now: ", clean(b.sentence))});
  }
  out += detail::table(rows);
  if (diff.moved > rows.size()) out += cat("  ... and ", diff.moved - rows.size(), " more (--json has all)\n");
  if (const size_t renumbered = diff.changes.size() - diff.moved) out += cat(count_of(renumbered, "node"), renumbered == 1 ? " stays on its device" : " stay on their device", " in a subgraph of another number\n");
  return out + lonely(before, diff.only_before, "first") + lonely(after, diff.only_after, "second");
}

Json diff_json(const Plan& before, const Plan& after, const PlanDiff& diff) {
  Json changes = Json::array();
  for (const PlanDiff::Change& c : diff.changes)
    changes.push_back({{"name", before.nodes[c.before].name}, {"op", before.nodes[c.before].op_type}, {"moved", c.moved}, {"before", place_json(before, c.before)}, {"after", place_json(after, c.after)}});
  return {{"equal", diff.equal()},          {"same_model", diff.same_model}, {"moved", diff.moved},
          {"before", side_json(before)},    {"after", side_json(after)},     {"changes", std::move(changes)},
          {"only_before", names_json(before, diff.only_before)}, {"only_after", names_json(after, diff.only_after)}};
}

}  // namespace optima
