// SPDX-License-Identifier: Apache-2.0
// core/graph: checks every invariant of graph.hpp. Own checks first make the packing safe; the seam's verifier does the rest.
#include <string_view>
#include <unordered_set>

#include "core/graph/graph.hpp"
#include "core/support/text.hpp"

namespace optima {
namespace {

class Checker {
 public:
  explicit Checker(const Graph& graph) : graph_(graph), c_(graph.contents) {}

  Status run() {
    if (c_.graphs.empty()) return internal_error("graph: no main graph");
    held_.assign(c_.graphs.size(), 0);
    for (const image::Constant& c : c_.constants)
      if (c.blob >= graph_.blobs.size()) return internal_error("graph: constant names no blob");
    for (uint32_t g = 0; g < c_.graphs.size(); ++g) OPTIMA_RETURN_IF_ERROR(check(g));
    for (uint32_t g = 1; g < c_.graphs.size(); ++g)
      if (!held_[g]) return internal_error(cat("graph: body ", g, " that no node holds"));
    const PackedGraph packed = pack(graph_);
    const std::string why = image::verify(packed.bytes.data(), packed.bytes.size(), &packed.raw);
    return why.empty() ? Status() : internal_error(why);
  }

 private:
  Status check(uint32_t index) {
    const image::Graph& g = c_.graphs[index];
    std::unordered_set<std::string_view> names;
    for (const image::Value& v : g.values) {
      if (!names.insert(v.name).second) return internal_error(cat("graph: two values named ", quote(v.name)));
      if (v.constant != OPTIMA_NONE && v.constant >= c_.constants.size())
        return internal_error(cat("graph: value ", quote(v.name), " names no constant"));
    }
    if (!known(g, g.inputs, false) || !known(g, g.outputs, false)) return internal_error("graph: input or output names no value");
    for (const image::Capture& c : g.captures)
      if (c.inner >= g.values.size()) return internal_error("graph: capture names no value");
    for (const image::Node& n : g.nodes) OPTIMA_RETURN_IF_ERROR(check(index, g, n));
    return {};
  }

  Status check(uint32_t index, const image::Graph& g, const image::Node& n) {
    auto broken = [&](std::string_view what) { return internal_error(cat("graph: node ", quote(n.name), " ", what)); };
    if (n.name.empty() || !node_names_.insert(n.name).second) return broken("has a name that is empty or not unique");
    if (n.id >= graph_.origins.size()) return broken("has no origin");
    if (!known(g, n.inputs, true) || !known(g, n.outputs, true)) return broken("names no value");
    for (const image::Attr& a : n.attrs) {
      if ((a.type == OPTIMA_ATTR_TENSOR || a.type == OPTIMA_ATTR_GRAPH) && a.refs.size() != 1) return broken("has an attribute without what it refers to");
      for (uint32_t ref : a.refs) {
        if (!holds_body(a) && ref >= c_.constants.size()) return broken("names no constant");
        if (holds_body(a) && (ref <= index || ref >= c_.graphs.size() || held_[ref]++)) return broken("names no body");
        if (holds_body(a) && !captures_known(g, ref)) return broken("has a body that captures no value");
      }
    }
    return {};
  }

  bool captures_known(const image::Graph& g, uint32_t body) const {
    for (const image::Capture& c : c_.graphs[body].captures)
      if (c.outer >= g.values.size()) return false;
    return true;
  }
  static bool known(const image::Graph& g, const std::vector<uint32_t>& values, bool may_be_absent) {
    for (uint32_t v : values)
      if (v >= g.values.size() && !(may_be_absent && v == OPTIMA_NONE)) return false;
    return true;
  }

  const Graph& graph_;
  const image::Contents& c_;
  std::vector<uint8_t> held_;
  std::unordered_set<std::string_view> node_names_;
};

}  // namespace

Status verify(const Graph& graph) { return Checker(graph).run(); }

}  // namespace optima
