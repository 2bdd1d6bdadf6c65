// SPDX-License-Identifier: Apache-2.0
// core/graph: who produces and who reads each value of one graph.
#include "core/graph/graph.hpp"

namespace optima {
namespace {

void add_reader(Uses& uses, uint32_t value, uint32_t node) {
  if (value == OPTIMA_NONE) return;
  std::vector<uint32_t>& readers = uses.consumers[value];
  if (readers.empty() || readers.back() != node) readers.push_back(node);
}

}  // namespace

Uses uses_of(const Graph& graph, uint32_t index) {
  const image::Graph& g = graph.contents.graphs[index];
  Uses uses{std::vector<uint32_t>(g.values.size(), Uses::kNone), std::vector<std::vector<uint32_t>>(g.values.size())};
  for (uint32_t n = 0; n < g.nodes.size(); ++n) {
    for (uint32_t v : g.nodes[n].inputs) add_reader(uses, v, n);
    for_each_body(g.nodes[n], [&](uint32_t body) {
      for (const image::Capture& c : graph.contents.graphs[body].captures) add_reader(uses, c.outer, n);
    });
    for (uint32_t v : g.nodes[n].outputs)
      if (v != OPTIMA_NONE) uses.producer[v] = n;
  }
  return uses;
}

}  // namespace optima
