// SPDX-License-Identifier: Apache-2.0
// optima/plugin/cut.hpp: some nodes of graph 0 as a graph of their own: what a plugin asks its vendor's tools about. Not included by plugin.hpp.
#pragma once

#include <unordered_map>
#include <unordered_set>

#include "optima/plugin/reads.hpp"
#include "optima/plugin/repack.hpp"

namespace optima::sdk {
inline namespace v0_1 {

/// Which values of its nodes are a cut's outputs: all of them, or those that somebody else reads or nobody does, as in a subgraph of these nodes.
enum class CutOutputs { All, Read };

/// Nodes in the graph's order, each with its bodies. Constants share the blobs of the graph they come from, which must outlive this.
/// Throws what pack() does.
class Cut {
 public:
  Cut(const optima_graph* from, const std::vector<Node>& nodes, CutOutputs outputs = CutOutputs::All) {
    Scope main = scope("query");
    for (const Node& n : nodes) add(n, main);
    const std::unordered_set<uint32_t> inside = outputs == CutOutputs::All ? std::unordered_set<uint32_t>() : read_by_no_other(Graph(from), nodes);
    put_out(main, inside);
    finish(from);
  }
  /// Pieces beside each other that share nothing but constants: values and nodes of piece k are called NAME/k here, and a value is an output
  /// unless a node of the piece reads it.
  Cut(const optima_graph* from, const std::vector<std::vector<Node>>& pieces) {
    Scope main = scope("query");
    for (size_t k = 0; k < pieces.size(); ++k) {
      main.values.clear(), main.made.clear();
      main.suffix = "/" + std::to_string(k);
      std::unordered_set<uint32_t> inside;
      for (const Node& n : pieces[k]) {
        each_read(n, [&](uint32_t value) { inside.insert(value); });
        add(n, main);
      }
      put_out(main, inside);
    }
    finish(from);
  }
  Cut(const Cut&) = delete;
  Cut& operator=(const Cut&) = delete;
  const optima_graph* raw() const { return &raw_; }

 private:
  /// A graph being filled, and where the values of its origin are in it.
  struct Scope {
    size_t graph;
    std::unordered_map<uint32_t, uint32_t> values{};
    std::vector<std::pair<uint32_t, uint32_t>> made{};  ///< of the main graph: values that its nodes make, there and here
    std::string suffix{};
  };
  Scope scope(std::string name) {
    contents_.graphs.emplace_back().name = std::move(name);
    return {contents_.graphs.size() - 1};
  }
  image::Graph& graph(const Scope& in) { return contents_.graphs[in.graph]; }

  static std::unordered_set<uint32_t> read_by_no_other(const Graph& from, const std::vector<Node>& nodes) {
    std::unordered_set<const optima_node*> mine;
    for (const Node& n : nodes) mine.insert(&n.raw());
    std::unordered_set<uint32_t> read;
    for (const Node& n : nodes) each_read(n, [&](uint32_t value) { read.insert(value); });
    for (uint32_t k = 0; k < from.output_count(); ++k) read.erase(from.output(k).index());
    for (uint32_t k = 0; k < from.size(); ++k)
      if (!mine.count(&from[k].raw())) each_read(from[k], [&](uint32_t value) { read.erase(value); });
    return read;
  }

  void put_out(const Scope& main, const std::unordered_set<uint32_t>& inside) {
    for (const auto& [there, here] : main.made)
      if (!inside.count(there)) graph(main).outputs.push_back(here);
  }

  void finish(const optima_graph* from) {
    repack_opsets(from->image, contents_);
    bytes_.emplace(image::pack(contents_));
    raw_ = {sizeof raw_, 0, bytes_->image(), from->blobs, from->blob_count, 0, {}};
  }

  uint32_t constant(const Constant& c) {
    contents_.constants.push_back({c.dtype(), c.shape(), c.blob_index()});
    return static_cast<uint32_t>(contents_.constants.size() - 1);
  }

  /// What the main graph makes may be its output, what it only reads is its input; bodies say so themselves.
  uint32_t value(const Value& v, bool made_here, Scope& in) {
    if (!v) return OPTIMA_NONE;
    const auto [at, fresh] = in.values.try_emplace(v.index(), static_cast<uint32_t>(graph(in).values.size()));
    if (!fresh) return at->second;
    image::Value out = repacked(v);
    out.name += in.suffix;
    if (v.is_constant()) out.constant = constant(v.constant());
    if (in.graph == 0 && made_here) in.made.emplace_back(v.index(), at->second);
    else if (in.graph == 0 && !v.is_constant()) graph(in).inputs.push_back(at->second);
    graph(in).values.push_back(std::move(out));
    return at->second;
  }

  uint32_t body(const Graph& from, Scope& outer) {
    Scope in = scope(std::string(from.name()));
    in.suffix = outer.suffix;
    for (uint32_t k = 0; k < from.capture_count(); ++k) {
      const uint32_t outside = value(from.captured(k), false, outer);
      graph(in).captures.push_back({outside, value(from.capture_of(k), false, in)});
    }
    for (uint32_t k = 0; k < from.input_count(); ++k) graph(in).inputs.push_back(value(from.input(k), false, in));
    for (uint32_t k = 0; k < from.size(); ++k) add(from[k], in);
    for (uint32_t k = 0; k < from.output_count(); ++k) graph(in).outputs.push_back(value(from.output(k), false, in));
    return static_cast<uint32_t>(in.graph);
  }

  image::Attr attribute(const Attr& a, Scope& in) {
    image::Attr out = repacked(a, [this](const Constant& c) { return constant(c); });
    if (a.type() == OPTIMA_ATTR_GRAPH) out.refs.push_back(body(a.body(), in));
    for (uint32_t k = 0; a.type() == OPTIMA_ATTR_GRAPHS && k < a.size(); ++k) out.refs.push_back(body(a.body(k), in));
    return out;
  }

  void add(const Node& n, Scope& in) {
    const uint32_t id = in.suffix.empty() ? n.id() : ++next_id_;  // a node may be in several pieces
    image::Node out{std::string(n.name()).append(in.suffix), std::string(n.op()), std::string(n.domain()), id, n.since_version(), {}, {}, {}, n.raw().flags};
    for (uint32_t k = 0; k < n.input_count(); ++k) out.inputs.push_back(value(n.input(k), false, in));
    for (uint32_t k = 0; k < n.output_count(); ++k) out.outputs.push_back(value(n.output(k), true, in));
    for (uint32_t k = 0; k < n.attr_count(); ++k) out.attrs.push_back(attribute(n.attr(k), in));
    graph(in).nodes.push_back(std::move(out));
  }

  image::Contents contents_;
  uint32_t next_id_ = 0;
  std::optional<image::Bytes> bytes_;
  optima_graph raw_{};
};

}  // namespace v0_1
}  // namespace optima::sdk
