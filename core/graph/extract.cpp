// SPDX-License-Identifier: Apache-2.0
// core/graph: copies of a part of a graph: the values, constants, bytes and bodies its nodes need, in their old order.
#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "core/graph/graph.hpp"

namespace optima {
namespace {

using Map = std::unordered_map<uint32_t, uint32_t>;

// What one new graph is made of. Indices are those of the source.
struct Part {
  uint32_t graph;
  std::vector<uint32_t> nodes, inputs, outputs;
};

class Copier {
 public:
  Copier(const Graph& from, Graph& to) : from_(from), to_(to) {}

  uint32_t copy(const Part& part) {
    const image::Graph& source = graph(part.graph);
    const uint32_t index = static_cast<uint32_t>(to_.contents.graphs.size());
    to_.contents.graphs.emplace_back();
    image::Graph made;
    made.name = source.name;
    Map values = copy_values(part, made);
    for (uint32_t v : part.inputs) made.inputs.push_back(values.at(v));
    for (uint32_t v : part.outputs) made.outputs.push_back(values.at(v));
    for (uint32_t n : part.nodes) made.nodes.push_back(copy_node(source.nodes[n], values));
    to_.contents.graphs[index] = std::move(made);
    return index;
  }

 private:
  const image::Graph& graph(uint32_t index) const { return from_.contents.graphs[index]; }

  static Part whole_body(uint32_t body, const image::Graph& source) {
    Part part{body, std::vector<uint32_t>(source.nodes.size()), source.inputs, source.outputs};
    for (uint32_t n = 0; n < part.nodes.size(); ++n) part.nodes[n] = n;
    return part;
  }

  // Value indices the part touches, ascending, each once.
  std::vector<uint32_t> touched(const Part& part) {
    std::vector<uint32_t> out = part.inputs;
    out.insert(out.end(), part.outputs.begin(), part.outputs.end());
    for (uint32_t n : part.nodes) {
      const image::Node& node = graph(part.graph).nodes[n];
      out.insert(out.end(), node.inputs.begin(), node.inputs.end());
      out.insert(out.end(), node.outputs.begin(), node.outputs.end());
      for_each_body(node, [&](uint32_t body) {
        for (const image::Capture& c : captures(body)) out.push_back(c.outer);
      });
    }
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    if (!out.empty() && out.back() == OPTIMA_NONE) out.pop_back();
    return out;
  }

  // The captures of a body that something in it reads.
  const std::vector<image::Capture>& captures(uint32_t body) {
    if (auto known = captures_.find(body); known != captures_.end()) return known->second;
    const std::vector<uint32_t> used = touched(whole_body(body, graph(body)));
    std::vector<image::Capture> kept;
    for (const image::Capture& c : graph(body).captures)
      if (std::binary_search(used.begin(), used.end(), c.inner)) kept.push_back(c);
    return captures_[body] = std::move(kept);
  }

  Map copy_values(const Part& part, image::Graph& made) {
    Map values;
    for (uint32_t v : touched(part)) {
      values[v] = static_cast<uint32_t>(made.values.size());
      made.values.push_back(graph(part.graph).values[v]);
      uint32_t& constant = made.values.back().constant;
      if (constant != OPTIMA_NONE) constant = copy_constant(constant);
    }
    return values;
  }

  uint32_t copy_constant(uint32_t old) {
    auto [it, fresh] = constants_.try_emplace(old, static_cast<uint32_t>(to_.contents.constants.size()));
    if (!fresh) return it->second;
    image::Constant made = from_.contents.constants[old];
    auto [blob, new_blob] = blobs_.try_emplace(made.blob, static_cast<uint32_t>(to_.blobs.size()));
    if (new_blob) to_.blobs.push_back(from_.blobs[made.blob]);
    made.blob = blob->second;
    to_.contents.constants.push_back(std::move(made));
    return it->second;
  }

  image::Node copy_node(const image::Node& source, const Map& values) {
    image::Node made = source;
    for (uint32_t& v : made.inputs) v = v == OPTIMA_NONE ? v : values.at(v);
    for (uint32_t& v : made.outputs) v = v == OPTIMA_NONE ? v : values.at(v);
    for (image::Attr& a : made.attrs)
      for (uint32_t& ref : a.refs) ref = holds_body(a) ? copy_body(ref, values) : copy_constant(ref);
    if (source.id < from_.origins.size()) {
      if (to_.origins.size() <= source.id) to_.origins.resize(source.id + 1);
      to_.origins[source.id] = from_.origins[source.id];
    }
    return made;
  }

  uint32_t copy_body(uint32_t body, const Map& outer) {
    Part part = whole_body(body, graph(body));
    const std::vector<image::Capture> kept = captures(body);
    const std::vector<uint32_t> inner = touched(part);  // same order as copy_values gives them
    const uint32_t index = copy(part);
    for (const image::Capture& c : kept) {
      const auto at = std::lower_bound(inner.begin(), inner.end(), c.inner) - inner.begin();
      to_.contents.graphs[index].captures.push_back({outer.at(c.outer), static_cast<uint32_t>(at)});
    }
    return index;
  }

  const Graph& from_;
  Graph& to_;
  Map constants_, blobs_;
  std::unordered_map<uint32_t, std::vector<image::Capture>> captures_;
};

Graph copy_part(const Graph& graph, const Part& part) {
  Graph out;
  out.model_name = graph.model_name;
  out.model_hash = graph.model_hash;
  out.contents.opsets = graph.contents.opsets;
  out.sizes = graph.sizes;
  Copier(graph, out).copy(part);
  return out;
}

}  // namespace

Graph extract(const Graph& graph, std::span<const uint32_t> nodes, const Uses& uses) {
  const image::Graph& g = graph.main();
  Part part{0, {nodes.begin(), nodes.end()}, {}, {}};
  auto inside = [&](uint32_t n) { return n != Uses::kNone && std::binary_search(nodes.begin(), nodes.end(), n); };
  std::unordered_map<uint32_t, bool> seen;
  auto read = [&](uint32_t v) {
    if (v == OPTIMA_NONE || !seen.try_emplace(v, true).second) return;
    if (g.values[v].constant == OPTIMA_NONE && !inside(uses.producer[v])) part.inputs.push_back(v);
  };
  std::unordered_map<uint32_t, bool> model_outputs;
  for (uint32_t v : g.outputs) model_outputs.try_emplace(v, true);
  for (uint32_t n : nodes) {
    for (uint32_t v : g.nodes[n].inputs) read(v);
    for_each_body(g.nodes[n], [&](uint32_t body) {
      for (const image::Capture& c : graph.contents.graphs[body].captures) read(c.outer);
    });
    for (uint32_t v : g.nodes[n].outputs) {
      if (v == OPTIMA_NONE) continue;
      const auto& readers = uses.consumers[v];
      const bool outside = std::any_of(readers.begin(), readers.end(), [&](uint32_t r) { return !inside(r); });
      if (outside || model_outputs.count(v)) part.outputs.push_back(v);
    }
  }
  return copy_part(graph, part);
}

Graph extract(const Graph& graph, std::span<const uint32_t> nodes, std::span<const uint32_t> inputs, std::span<const uint32_t> outputs) {
  return copy_part(graph, {0, {nodes.begin(), nodes.end()}, {inputs.begin(), inputs.end()}, {outputs.begin(), outputs.end()}});
}

BodyGraph body_graph(const Graph& graph, uint32_t body) {
  const image::Graph& g = graph.contents.graphs[body];
  Part part{body, std::vector<uint32_t>(g.nodes.size()), g.inputs, g.outputs};
  std::iota(part.nodes.begin(), part.nodes.end(), uint32_t{0});
  BodyGraph out;
  for (const image::Capture& c : g.captures) {
    part.inputs.push_back(c.inner);
    out.captured.push_back(c.outer);
  }
  out.graph = copy_part(graph, part);
  return out;
}

Graph compact(const Graph& graph, std::span<const uint32_t> nodes) {
  Graph out = copy_part(graph, {0, {nodes.begin(), nodes.end()}, graph.main().inputs, graph.main().outputs});
  out.texts = graph.texts;
  out.origins = graph.origins;
  out.folded = graph.folded;
  return out;
}

}  // namespace optima
