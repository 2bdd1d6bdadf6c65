// SPDX-License-Identifier: Apache-2.0
// core/passes: dead code.
#include "core/passes/drop_dead_nodes.hpp"

#include <algorithm>

#include "core/passes/constant_values.hpp"

namespace optima::passes {
namespace {

// Bodies stand behind the graph of their node, so from the back every body is clean before its holder is looked at.
void drop_in(Graph& graph, uint32_t index) {
  image::Graph& g = graph.contents.graphs[index];
  std::vector<bool> needed(g.values.size());
  auto need = [&](uint32_t v) {
    if (v != OPTIMA_NONE) needed[v] = true;
  };
  for (uint32_t v : g.outputs) need(v);
  std::vector<bool> dead(g.nodes.size());
  for (size_t n = g.nodes.size(); n-- > 0;) {
    const image::Node& node = g.nodes[n];
    dead[n] = std::none_of(node.outputs.begin(), node.outputs.end(), [&](uint32_t v) { return v != OPTIMA_NONE && needed[v]; });
    if (dead[n]) continue;
    for (uint32_t v : node.inputs) need(v);
    for_each_body(node, [&](uint32_t body) {
      for (const image::Capture& c : graph.contents.graphs[body].captures) need(c.outer);
    });
  }
  std::erase_if(g.captures, [&](const image::Capture& c) { return !needed[c.inner]; });
  remove_nodes(graph, index, dead, "dead");
}

}  // namespace

Status drop_dead_nodes(Graph& graph, const OwnOperators& /*own*/) {
  for (uint32_t g = static_cast<uint32_t>(graph.contents.graphs.size()); g-- > 0;) drop_in(graph, g);
  tidy(graph);
  return {};
}

}  // namespace optima::passes
