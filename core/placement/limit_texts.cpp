// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>

#include "core/placement/limits_of.hpp"
#include "core/support/text.hpp"

namespace optima::detail {
namespace {

constexpr size_t kMostShown = 8;  // nodes of a conflict

std::string plugin_of(const Candidates& candidates, uint32_t device) {
  return candidates.plugins[device] ? cat("plugin ", quote(candidates.plugins[device]->manifest().id)) : "the host";
}

uint64_t memory_of(const Candidates& candidates, uint32_t device) {
  const uint64_t note = candidates.limits(device).memory, config = candidates.devices[device].target.memory_limit;
  return note && config ? std::min(note, config) : std::max(note, config);
}

// "'a' (Relu): pinned to NPU:0 by 'a'", "'b' (Exp): only CPU:0 of the candidates takes it".
std::string held(const Graph& graph, const Candidates& candidates, const Choices& choices, uint32_t unit) {
  const uint32_t n = choices.units[unit][0];
  const image::Node& node = graph.main().nodes[n];
  uint64_t allow = ~uint64_t{0};
  for (uint32_t m : choices.units[unit]) allow &= choices.allow[m];
  std::vector<std::string> devices;
  for (; allow; allow &= allow - 1) devices.push_back(candidates.devices[static_cast<size_t>(std::countr_zero(allow))].name);
  const Wish* wish = choices.wish[n];
  const std::string why = wish && wish->hard ? cat("pinned to ", join(devices), " by ", wish->source)
                          : wish             ? cat("on ", join(devices), " by ", wish->source)
                                             : cat("only ", join(devices, " and "), devices.size() == 1 ? " of the candidates takes it" : " of the candidates take it");
  return cat(quote(node.name), " (", node.op_type, "): ", why);
}

std::string all_held(const Graph& graph, const Candidates& candidates, const Choices& choices, const std::vector<uint32_t>& units) {
  std::vector<std::string> shown;
  for (uint32_t u : units)
    if (shown.size() < kMostShown) shown.push_back(held(graph, candidates, choices, u));
  return cat(join(shown, "; "), units.size() > kMostShown ? cat("; and ", units.size() - kMostShown, " more") : "");
}

// ", counted at width = 960", where open sizes are bounded.
std::string largest_sizes(const PlacementRequest& request) {
  std::vector<std::string> out;
  if (request.at_most)
    for (const auto& [symbol, range] : request.at_most->sizes) out.push_back(cat(symbol, " = ", range.max));
  return out.empty() ? "" : cat(", counted at ", join(out));
}

}  // namespace

std::string limit_text(const Candidates& candidates, const PlacementRequest& request, uint32_t device, LimitKind kind, const std::string& op) {
  const Limits& note = candidates.limits(device);
  const std::string plugin = plugin_of(candidates, device);
  switch (kind) {
    case LimitKind::Nodes: return cat(plugin, " takes at most ", number_of(note.max_nodes, "node"), " in a subgraph");
    case LimitKind::Bytes:
      return cat("a subgraph on ", candidates.devices[device].name, " may hold at most ", human_bytes(memory_of(candidates, device)), largest_sizes(request));
    case LimitKind::Tensors: return cat(plugin, " takes at most ", note.max_io, " inputs and outputs of a subgraph");
    case LimitKind::First: return cat("no subgraph of ", plugin, " may begin with ", op);
    case LimitKind::Last: return cat("no subgraph of ", plugin, " may end with ", op);
    case LimitKind::Parts:
      return note.max_subgraphs ? cat(plugin, " takes at most ", number_of(note.max_subgraphs, "subgraph"), ", and this would be one more")
                                : cat("at most ", request.max_subgraphs, " subgraphs are wanted (--max-subgraphs)");
    case LimitKind::None: break;
  }
  return "";
}

Status conflict_error(const Graph& graph, const Candidates& candidates, const PlacementRequest& request, const Choices& choices,
                      const LimitConflict& conflict) {
  using Kind = LimitConflict::Kind;
  if (conflict.kind == Kind::UnitTooBig || conflict.kind == Kind::FirstOrLast) {
    const image::Node& node = graph.main().nodes[choices.units[conflict.units[0]][0]];
    return placement_error(cat("node ", held(graph, candidates, choices, conflict.units[0]), ", but ",
                               limit_text(candidates, request, conflict.device, conflict.limit, node.op_type),
                               conflict.kind == Kind::UnitTooBig ? ", and it alone is more" : ", and what it is connected with runs elsewhere"));
  }
  const std::string most = conflict.kind == Kind::GroupParts
                               ? cat(plugin_of(candidates, conflict.device), " takes at most ",
                                     number_of(candidates.limits(conflict.device).max_subgraphs, "subgraph"))
                               : cat("--max-subgraphs ", request.max_subgraphs);
  if (conflict.units.empty())
    return placement_error(cat(most, ": the best plan found has ", conflict.found, conflict.kind == Kind::GroupParts ? " on its devices" : "",
                               ", the proven minimum is ", conflict.least));
  return placement_error(cat(most, ", but at least ", conflict.least, " are needed; none of these could be spared as a reason: ",
                             all_held(graph, candidates, choices, conflict.units)));
}

std::vector<std::string> closed_notes(const Candidates& candidates, const Split& split) {
  std::vector<size_t> closed(candidates.devices.size(), 0);
  for (size_t i = 1; i < split.devices.size(); ++i) closed[split.devices[i]] += split.devices[i] == split.devices[i - 1];
  std::vector<std::string> out;
  for (uint32_t d = 0; d < closed.size(); ++d) {
    if (closed[d] == 0) continue;
    const Limits& note = candidates.limits(d);
    std::vector<std::string> limits;
    if (note.max_nodes) limits.push_back(cat("at most ", note.max_nodes, " nodes"));
    if (const uint64_t bytes = memory_of(candidates, d)) limits.push_back(cat("at most ", human_bytes(bytes)));
    if (note.max_io) limits.push_back(cat("at most ", note.max_io, " inputs and outputs"));
    if (note.connected_only) limits.push_back("only what is connected");
    out.push_back(cat(candidates.devices[d].name, " has ", closed[d], closed[d] == 1 ? " subgraph" : " subgraphs",
                      " more than without limits: a subgraph there takes ", join(limits)));
  }
  return out;
}

}  // namespace optima::detail
