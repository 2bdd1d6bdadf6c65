// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <numeric>
#include <queue>

#include "core/placement/quantized.hpp"
#include "core/placement/refusal.hpp"
#include "core/placement/units.hpp"
#include "core/plan/operators.hpp"
#include "core/support/text.hpp"

namespace optima::detail {
namespace {

constexpr int kPatientRounds = 16;  // groups on a cycle are given up one at a time for so long, then all at once

uint64_t bit(uint32_t device) { return uint64_t{1} << device; }

std::string names_of(const Graph& graph, const std::vector<uint32_t>& nodes) {
  constexpr size_t kMostShown = 3;
  std::vector<std::string> shown;
  for (uint32_t n : nodes)
    if (shown.size() < kMostShown) shown.push_back(quote(graph.main().nodes[n].name));
  return cat(join(shown), nodes.size() > kMostShown ? ", ..." : "");
}

class Settler {
 public:
  Settler(const Graph& graph, const Uses& uses, const Candidates& candidates, const PlacementRequest& request, Capability& capability)
      : graph_(graph), uses_(uses), candidates_(candidates), request_(request), capability_(capability),
        alive_(capability.groups.size(), 1), quantized_(graph, uses, candidates) {}

  Result<Choices> run() {
    read_wishes();
    out_.stateful = stateful_nodes(graph_, request_.plugins);
    for (int round = 0;; ++round) {
      settle_allow();
      OPTIMA_ASSIGN(const bool cut, quantized_.settle(out_.wish, limit_, capability_, grouped(), out_.allow));
      if (cut) continue;
      out_.quantized_rules = quantized_.rules();
      if (give_up_scattered_groups() || give_up_overlapping_groups()) continue;
      form_units();
      if (cut_units_without_device()) continue;
      if (order_units()) break;
      give_up_groups_on_cycles(round >= kPatientRounds);
    }
    OPTIMA_RETURN_IF_ERROR(refusal_of(graph_, candidates_, request_, capability_, out_));
    for (std::string note : {quantized_.cut_note(), given_up_note()})
      if (!note.empty()) out_.notes.push_back(std::move(note));
    return std::move(out_);
  }

 private:
  size_t nodes() const { return graph_.main().nodes.size(); }
  const Wish* wish_of(const image::Node& node) const {
    if (node.id >= request_.wishes.size() || request_.wishes[node.id].devices.empty()) return nullptr;
    return &request_.wishes[node.id];
  }
  uint64_t mask_of(const Wish& wish) const {
    uint64_t mask = 0;
    for (const DeviceName& name : wish.devices) mask |= bit(candidates_.index_of(name));
    return mask;
  }

  // ---- wishes

  void read_wishes() {
    out_.wish.assign(nodes(), nullptr);
    limit_.assign(nodes(), candidates_.free);
    find_limits();
    for (uint32_t n = 0; n < nodes(); ++n) out_.rule.push_back({limit_[n], candidates_.listed(out_.wish[n]), 0});
    for (const auto& [n, why] : capability_.host.why) {  // unless a device takes it after all
      const HostDriven::Whole& whole = capability_.host.whole.at(n);
      out_.rule[n] = {whole.limit, candidates_.listed(whole.wish), bit(capability_.host.device)};
    }
  }

  void find_limits() {
    for (uint32_t n = 0; n < nodes(); ++n) {
      if (capability_.host.drives(n)) {
        limit_[n] = bit(capability_.host.device);
        continue;
      }
      if (const auto whole = capability_.host.whole.find(n); whole != capability_.host.whole.end()) {
        limit_[n] = whole->second.limit;
        out_.wish[n] = whole->second.wish;
        continue;
      }
      if (const Wish* wish = wish_of(graph_.main().nodes[n])) limit_[n] = mask_of(*(out_.wish[n] = wish));
      if (!candidates_.required) continue;
      limit_[n] = (out_.wish[n] ? limit_[n] : ~uint64_t{0}) & mask_of(*candidates_.required);
      if (!out_.wish[n]) out_.wish[n] = &*candidates_.required;
    }
  }

  // ---- which devices each node may go to, given who still says yes

  void settle_allow() {
    out_.allow.resize(nodes());
    out_.clone_on.resize(nodes());
    for (uint32_t n = 0; n < nodes(); ++n) {
      out_.allow[n] = out_.rule[n].leaves(capability_.yes[n]);
      out_.clone_on[n] = (limit_[n] | kept_clones(graph_.main().nodes[n])) & capability_.yes[n];
    }
  }

  // Where a plan that is followed has clones of the node.
  uint64_t kept_clones(const image::Node& node) const {
    uint64_t mask = 0;
    if (const auto kept = request_.kept.find(node.id); kept != request_.kept.end())
      for (const DeviceName& name : kept->second.clones)
        if (const uint32_t device = candidates_.find(name); device != OPTIMA_NONE) mask |= bit(device);
    return mask;
  }

  // ---- groups

  // By node: a plugin takes it only as a group, so no quantized unit may run a copy of it.
  std::vector<uint8_t> grouped() const {
    std::vector<uint8_t> out(nodes(), 0);
    for (size_t i = 0; i < alive_.size(); ++i)
      if (alive_[i])
        for (uint32_t n : capability_.groups[i].nodes) out[n] = 1;
    return out;
  }

  void give_up(size_t group, const std::string& why) {
    const Group& g = capability_.groups[group];
    alive_[group] = 0;
    for (uint32_t n : g.nodes) capability_.refuse(n, g.device, "OTHER", cat("taken only together with ", names_of(graph_, g.nodes), ", ", why));
    given_up_.push_back(cat(candidates_.devices[g.device].name, " takes ", names_of(graph_, g.nodes), " only together, ", why));
  }
  std::string given_up_note() const {
    constexpr size_t kMostShown = 3;
    if (given_up_.empty()) return "";
    const std::vector<std::string> shown(given_up_.begin(), given_up_.begin() + static_cast<std::ptrdiff_t>(std::min(given_up_.size(), kMostShown)));
    return cat(given_up_.size(), " of ", alive_.size(), " groups of plugins ", given_up_.size() == 1 ? "does" : "do", " not move as one: ", join(shown, "; "),
               given_up_.size() > kMostShown ? "; ..." : "");
  }

  bool give_up_scattered_groups() {
    bool any = false;
    for (size_t i = 0; i < alive_.size(); ++i) {
      const Group& g = capability_.groups[i];
      const auto lost = std::find_if(g.nodes.begin(), g.nodes.end(), [&](uint32_t n) { return !(out_.allow[n] & bit(g.device)); });
      if (!alive_[i] || lost == g.nodes.end()) continue;
      give_up(i, cat("but ", quote(graph_.main().nodes[*lost].name), " may not go there"));
      any = true;
    }
    return any;
  }

  // Two devices may name the same group, but not groups that share only some nodes: those could only move all together.
  bool give_up_overlapping_groups() {
    bool any = false;
    group_of_.assign(nodes(), OPTIMA_NONE);
    for (uint32_t i = 0; i < alive_.size(); ++i) {
      if (!alive_[i]) continue;
      const Group& g = capability_.groups[i];
      const auto other = std::find_if(g.nodes.begin(), g.nodes.end(), [&](uint32_t n) { return group_of_[n] != OPTIMA_NONE; });
      if (other != g.nodes.end() && capability_.groups[group_of_[*other]].nodes != g.nodes) {
        const std::string& device = candidates_.devices[capability_.groups[group_of_[*other]].device].name;
        give_up(i, cat("but ", quote(graph_.main().nodes[*other].name), " belongs to another group on ", device));
        any = true;
      } else if (other == g.nodes.end()) {
        for (uint32_t n : g.nodes) group_of_[n] = i;
      }
    }
    return any;
  }

  // Units are numbered by first node. Groups and quantized units that share a node are one unit.
  void form_units() {
    same_unit_.resize(nodes());
    std::iota(same_unit_.begin(), same_unit_.end(), 0);
    for (uint32_t n = 0; n < nodes(); ++n)
      if (group_of_[n] != OPTIMA_NONE) unite(n, capability_.groups[group_of_[n]].nodes[0]);
    out_.quantized.assign(nodes(), OPTIMA_NONE);
    quantized_.each_member([&](uint32_t op, uint32_t n, bool home) {
      if (home) unite(n, op), out_.quantized[n] = out_.quantized[op] = op;
    });
    out_.units.clear();
    out_.unit_of.assign(nodes(), OPTIMA_NONE);
    for (uint32_t n = 0; n < nodes(); ++n) {
      uint32_t& unit = out_.unit_of[root_of(n)];  // the root is the first of its unit
      if (unit == OPTIMA_NONE) {
        unit = static_cast<uint32_t>(out_.units.size());
        out_.units.emplace_back();
      }
      out_.units[out_.unit_of[n] = unit].push_back(n);
    }
    out_.copies.clear();
    quantized_.each_member([&](uint32_t op, uint32_t n, bool home) {
      if (!home && out_.unit_of[n] != out_.unit_of[op]) out_.copies[n].push_back(out_.unit_of[op]), out_.quantized[op] = op;
    });
  }
  // A quantized unit that joins groups of several devices leaves them none.
  bool cut_units_without_device() {
    std::vector<uint8_t> marked(nodes(), 0);
    bool any = false;
    for (const std::vector<uint32_t>& unit : out_.units) {
      uint64_t allow = ~uint64_t{0}, each = 1;
      for (uint32_t n : unit) allow &= out_.allow[n], each = out_.allow[n] ? each : 0;
      if (allow || !each) continue;  // a node that nobody takes is an error of its own
      for (uint32_t n : unit) marked[n] = 1;
      any = true;
    }
    if (any) quantized_.cut_all_with(marked, "groups of different devices share it");
    return any;
  }
  uint32_t root_of(uint32_t n) {
    while (same_unit_[n] != n) n = same_unit_[n] = same_unit_[same_unit_[n]];
    return n;
  }
  void unite(uint32_t a, uint32_t b) {
    a = root_of(a), b = root_of(b);
    same_unit_[std::max(a, b)] = std::min(a, b);
  }

  template <class F>
  void each_edge(uint32_t unit, F&& f) const {
    for (uint32_t n : out_.units[unit])
      for (uint32_t v : graph_.main().nodes[n].outputs)
        if (v != OPTIMA_NONE) each_reading_unit(uses_, out_, n, v, f);
    for (uint32_t next : behind_[unit]) f(next);
  }

  // Renumbers the units in a topological order, the one with the smallest first node going first; false when there is a cycle,
  // which leaves the units on cycles marked in stuck_.
  bool order_units() {
    const auto count = static_cast<uint32_t>(out_.units.size());
    if (count == nodes()) return true;
    behind_.assign(count, {});
    each_ordered_pair(out_, [&](uint32_t before, uint32_t after) { behind_[before].push_back(after); });
    std::vector<uint32_t> waiting(count, 0), order;
    for (uint32_t u = 0; u < count; ++u) each_edge(u, [&](uint32_t w) { ++waiting[w]; });
    std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> ready;  // units are numbered by first node
    for (uint32_t u = 0; u < count; ++u)
      if (waiting[u] == 0) ready.push(u);
    while (!ready.empty()) {
      const uint32_t u = ready.top();
      ready.pop();
      order.push_back(u);
      each_edge(u, [&](uint32_t w) {
        if (--waiting[w] == 0) ready.push(w);
      });
    }
    if (order.size() < count) return mark_cycles(waiting), false;
    renumber(order);
    return true;
  }

  void renumber(const std::vector<uint32_t>& order) {
    std::vector<std::vector<uint32_t>> units;
    std::vector<uint32_t> number(order.size());
    for (uint32_t u : order) {
      number[u] = static_cast<uint32_t>(units.size());
      units.push_back(std::move(out_.units[u]));
    }
    out_.units = std::move(units);
    for (uint32_t& u : out_.unit_of) u = number[u];
    for (auto& [node, holders] : out_.copies) {
      for (uint32_t& u : holders) u = number[u];
      std::sort(holders.begin(), holders.end());
    }
  }

  // Units that wait are on a cycle or behind one: those behind are peeled off from the far end.
  void mark_cycles(const std::vector<uint32_t>& waiting) {
    stuck_.assign(waiting.size(), 0);
    std::vector<std::vector<uint32_t>> producers(waiting.size());
    std::vector<uint32_t> readers(waiting.size(), 0), loose;
    for (uint32_t u = 0; u < waiting.size(); ++u) {
      if (waiting[u] == 0) continue;
      stuck_[u] = 1;
      each_edge(u, [&](uint32_t w) {
        ++readers[u];
        producers[w].push_back(u);
      });
      if (readers[u] == 0) loose.push_back(u);
    }
    while (!loose.empty()) {
      const uint32_t u = loose.back();
      loose.pop_back();
      stuck_[u] = 0;
      for (uint32_t p : producers[u])
        if (--readers[p] == 0) loose.push_back(p);
    }
  }

  // Some group of those that wait for each other is not convex: without groups and quantized units the graph has no cycle.
  void give_up_groups_on_cycles(bool all) {
    bool any = false;
    for (size_t i = alive_.size(); i-- > 0;) {
      if (!alive_[i] || !stuck_[out_.unit_of[capability_.groups[i].nodes[0]]]) continue;
      give_up(i, "but a path leaves that group and comes back to it");
      any = true;
      if (!all) return;
    }
    if (any) return;
    std::vector<uint8_t> marked(nodes(), 0);
    for (uint32_t n = 0; n < nodes(); ++n) marked[n] = stuck_[out_.unit_of[n]];
    quantized_.cut_all_with(marked, "a path leaves it and comes back to it");
  }

  const Graph& graph_;
  const Uses& uses_;
  const Candidates& candidates_;
  const PlacementRequest& request_;
  Capability& capability_;
  std::vector<uint8_t> alive_;       // by group
  std::vector<std::string> given_up_;  // groups that are not, with the reason, in that order
  std::vector<uint64_t> limit_;      // by node: what its wishes leave, before asking who says yes
  std::vector<uint32_t> group_of_;   // by node
  std::vector<uint32_t> same_unit_;  // by node: towards the first node of its unit
  std::vector<std::vector<uint32_t>> behind_;  // by unit: those that its stateful nodes come before
  std::vector<uint8_t> stuck_;       // by unit: on a cycle
  QuantizedUnits quantized_;
  Choices out_;
};

}  // namespace

Result<Choices> settle(const Graph& graph, const Uses& uses, const Candidates& candidates, const PlacementRequest& request, Capability& capability) {
  return Settler(graph, uses, candidates, request, capability).run();
}

}  // namespace optima::detail
