// SPDX-License-Identifier: Apache-2.0
#include "core/placement/limits_of.hpp"

#include <algorithm>
#include <set>

namespace optima::detail {
namespace {

uint64_t bit(uint32_t device) { return uint64_t{1} << device; }

// Bytes of constants and of what the nodes make; a constant read twice by one unit counts once.
class Weigher {
 public:
  /// `sized`: the same graph at the sizes that count, which those of its main graph's values are.
  Weigher(const Graph& graph, const Graph& sized) : graph_(graph), sized_(sized) {}

  uint64_t bytes_of(const std::vector<uint32_t>& nodes) {
    seen_.clear();
    uint64_t sum = 0;
    for (uint32_t n : nodes) sum += of_node(0, graph_.main().nodes[n]);
    return sum;
  }

 private:
  uint64_t of_node(uint32_t in_graph, const image::Node& node) {
    const image::Graph& graph = graph_.contents.graphs[in_graph];
    uint64_t sum = 0;
    for (uint32_t v : node.inputs)
      if (v != OPTIMA_NONE) sum += of_constant(graph.values[v].constant);
    for (uint32_t v : node.outputs)
      if (v != OPTIMA_NONE) sum += static_bytes((in_graph == 0 ? sized_.main() : graph).values[v]);
    for_each_body(node, [&](uint32_t body) {
      for (const image::Node& inner : graph_.contents.graphs[body].nodes) sum += of_node(body, inner);
    });
    return sum;
  }
  uint64_t of_constant(uint32_t constant) {
    if (constant == OPTIMA_NONE || !seen_.insert(constant).second) return 0;
    return graph_.blobs[graph_.contents.constants[constant].blob].size;
  }

  const Graph &graph_, &sized_;
  std::set<uint32_t> seen_;
};

void limit_devices(SplitLimits& out, const Candidates& candidates) {
  std::vector<const Backend*> groups;
  for (size_t d = 0; d < candidates.devices.size(); ++d) {
    const Limits& note = candidates.limits(d);
    const uint64_t config = candidates.devices[d].target.memory_limit;
    const uint64_t bytes = note.memory && config ? std::min(note.memory, config) : std::max(note.memory, config);
    out.part.push_back({note.max_nodes, bytes, note.max_io, note.connected_only});
    const auto group = std::find(groups.begin(), groups.end(), candidates.plugins[d]);
    out.group.push_back(static_cast<uint32_t>(group - groups.begin()));
    if (group != groups.end()) continue;
    groups.push_back(candidates.plugins[d]);
    out.group_parts.push_back(static_cast<uint32_t>(std::min<uint64_t>(note.max_subgraphs, UINT32_MAX)));
  }
}

using Units = std::vector<std::vector<uint32_t>>;

// By unit: its nodes, and those of other units that it runs a copy of.
Units run_by(const Choices& choices) {
  Units out = choices.units;
  for (const auto& [node, units] : choices.copies)
    for (uint32_t u : units) out[u].push_back(node);
  return out;
}

void limit_ends(SplitLimits& out, const Graph& graph, const Candidates& candidates, const Units& units) {
  out.not_first.assign(units.size(), 0);
  out.not_last.assign(units.size(), 0);
  for (uint32_t d = 0; d < candidates.devices.size(); ++d) {
    const Limits& note = candidates.limits(d);
    const std::set<std::string> first(note.not_first.begin(), note.not_first.end()), last(note.not_last.begin(), note.not_last.end());
    if (first.empty() && last.empty()) continue;
    for (uint32_t u = 0; u < units.size(); ++u)
      for (uint32_t n : units[u]) {
        if (first.count(graph.main().nodes[n].op_type)) out.not_first[u] |= bit(d);
        if (last.count(graph.main().nodes[n].op_type)) out.not_last[u] |= bit(d);
      }
  }
}

void list_ends(SplitLimits& out, const Graph& graph, const Choices& choices, const Units& units, const SplitProblem& problem) {
  std::vector<uint8_t> is_input(graph.main().values.size(), 0), is_output(graph.main().values.size(), 0);
  for (uint32_t v : graph.main().inputs) is_input[v] = 1;
  for (uint32_t v : graph.main().outputs) is_output[v] = 1;
  out.first_input.push_back(0);
  for (const std::vector<uint32_t>& unit : units) {
    std::set<uint32_t> read;
    for (uint32_t n : unit) {
      for (uint32_t v : graph.main().nodes[n].inputs)
        if (v != OPTIMA_NONE && is_input[v]) read.insert(v);
      for_each_body(graph.main().nodes[n], [&](uint32_t body) {
        for (const image::Capture& capture : graph.contents.graphs[body].captures)
          if (is_input[capture.outer]) read.insert(capture.outer);
      });
    }
    out.inputs.insert(out.inputs.end(), read.begin(), read.end());
    out.first_input.push_back(static_cast<uint32_t>(out.inputs.size()));
  }
  for (uint32_t v : problem.values) out.is_output.push_back(v != OPTIMA_NONE && is_output[v]);
  for (uint32_t v : problem.values)
    if (v != OPTIMA_NONE) is_output[v] = 0;  // what is left is read by no other unit
  for (const std::vector<uint32_t>& unit : choices.units) {
    uint32_t lone = 0;
    for (uint32_t n : unit)
      for (uint32_t v : graph.main().nodes[n].outputs) lone += v != OPTIMA_NONE && is_output[v];
    out.lone_outputs.push_back(lone);
  }
}

void weigh_units(SplitLimits& out, const Graph& graph, const Graph& sized, const Units& units) {
  const bool weigh = std::any_of(out.part.begin(), out.part.end(), [](const PartLimits& l) { return l.bytes != 0; });
  Weigher weigher(graph, sized);
  for (const std::vector<uint32_t>& unit : units) {
    out.unit_nodes.push_back(static_cast<uint32_t>(unit.size()));
    out.unit_bytes.push_back(weigh ? weigher.bytes_of(unit) : 0);
  }
}

}  // namespace

SplitLimits limits_of(const Graph& graph, const Candidates& candidates, const PlacementRequest& request, const Choices& choices,
                      const SplitProblem& problem) {
  SplitLimits out;
  out.parts = request.max_subgraphs;
  limit_devices(out, candidates);
  const Units units = run_by(choices);
  limit_ends(out, graph, candidates, units);
  list_ends(out, graph, choices, units, problem);
  weigh_units(out, graph, request.at_most ? *request.at_most : graph, units);
  return out;
}

}  // namespace optima::detail
