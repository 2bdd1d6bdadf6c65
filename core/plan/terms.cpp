// SPDX-License-Identifier: Apache-2.0
#include "core/plan/terms.hpp"

namespace optima {

PlanTerms terms_for_bodies(const Graph& graph, const image::Node& node, const PlanTerms& terms) {
  PlanTerms out = terms;
  out.at_opt = out.at_most = nullptr;
  if (node.id >= terms.wishes.size() || terms.wishes[node.id].devices.empty()) return out;
  const auto share = [&](auto&& self, const image::Node& holder, const Wish& given) -> void {
    for_each_body(holder, [&](uint32_t body) {
      for (const image::Node& inner : graph.contents.graphs[body].nodes) {
        if (out.wishes.size() <= inner.id) out.wishes.resize(size_t{inner.id} + 1);
        if (Wish& own = out.wishes[inner.id]; own.devices.empty() && !own.host) own = given;
        self(self, inner, Wish(out.wishes[inner.id]));
      }
    });
  };
  share(share, node, terms.wishes[node.id]);
  return out;
}

BodyGraph body_of(const Graph& graph, const BodyPlan& body) {
  for (const image::Attr& attr : graph.main().nodes[body.node].attrs)
    if (holds_body(attr) && attr.name == body.name) return body_graph(graph, attr.refs[0]);
  return {};
}

}  // namespace optima
