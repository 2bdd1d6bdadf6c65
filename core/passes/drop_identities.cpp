// SPDX-License-Identifier: Apache-2.0
// core/passes: Identity nodes, and Dropout nodes that do not train.
#include "core/passes/drop_identities.hpp"

#include <numeric>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "core/passes/constant_values.hpp"

namespace optima::passes {
namespace {

bool is_false(const Graph& graph, const image::Graph& g, uint32_t value) {
  const uint32_t constant = g.values[value].constant;
  if (constant == OPTIMA_NONE) return false;
  const Blob& blob = graph.blobs[graph.contents.constants[constant].blob];
  return blob.data != nullptr && blob.size == 1 && *static_cast<const uint8_t*>(static_cast<const void*>(blob.data)) == 0;
}

// Input 2 of Dropout, since opset 12, says whether it trains; without it, or where it is false, nothing is dropped.
bool hands_on(const Graph& graph, const image::Graph& g, const image::Node& node) {
  if (!node.domain.empty() || node.inputs.empty() || node.inputs[0] == OPTIMA_NONE || node.outputs.empty() || node.outputs[0] == OPTIMA_NONE) return false;
  if (node.op_type == "Identity") return node.inputs.size() == 1 && node.outputs.size() == 1;
  return node.op_type == "Dropout" && (node.inputs.size() < 3 || node.inputs[2] == OPTIMA_NONE || is_false(graph, g, node.inputs[2]));
}

// What both types say; nothing when they contradict each other.
std::optional<image::Value> both(const image::Value& a, const image::Value& b) {
  if (a.kind == OPTIMA_KIND_UNKNOWN || a.dtype == OPTIMA_UNDEFINED) return b;
  if (b.kind == OPTIMA_KIND_UNKNOWN || b.dtype == OPTIMA_UNDEFINED) return a;
  if (a.kind != b.kind || a.dtype != b.dtype || (a.dims && b.dims && a.dims->size() != b.dims->size())) return std::nullopt;
  image::Value out = a;
  if (!out.dims) out.dims = b.dims;
  for (size_t d = 0; b.dims && d < b.dims->size(); ++d) {
    image::Dim& dim = (*out.dims)[d];
    const image::Dim& other = (*b.dims)[d];
    if (dim.value >= 0 && other.value >= 0 && dim.value != other.value) return std::nullopt;
    if (dim.value < 0 && (other.value >= 0 || dim.symbol.empty())) dim = other;
  }
  return out;
}

// What a body captures has the name that it has outside, where nothing else in the body has it.
void follow_names(const image::Graph& outer, image::Graph& body) {
  std::unordered_set<std::string> taken;
  for (const image::Value& v : body.values) taken.insert(v.name);
  for (const image::Capture& c : body.captures)
    if (taken.insert(outer.values[c.outer].name).second) body.values[c.inner].name = outer.values[c.outer].name;
}

// A body that captured one value under two names captures it once, by the name that it has outside where it is one of them.
void join_captures(Graph& graph, const image::Graph& outer, image::Graph& body) {
  std::unordered_map<uint32_t, uint32_t> stays, now;
  for (const image::Capture& c : body.captures)
    if (!stays.try_emplace(c.outer, c.inner).second && body.values[c.inner].name == outer.values[c.outer].name) stays[c.outer] = c.inner;
  std::erase_if(body.captures, [&](const image::Capture& c) {
    if (stays[c.outer] == c.inner) return false;
    now[c.inner] = stays[c.outer];
    return true;
  });
  if (now.empty()) return;
  const auto rename = [&](uint32_t& v) {
    if (const auto it = now.find(v); it != now.end()) v = it->second;
  };
  for (image::Node& node : body.nodes) {
    for (uint32_t& v : node.inputs) rename(v);
    for_each_body(node, [&](uint32_t inner) {
      for (image::Capture& c : graph.contents.graphs[inner].captures) rename(c.outer);
      join_captures(graph, body, graph.contents.graphs[inner]);
    });
  }
  for (uint32_t& v : body.outputs) rename(v);
}

// The values of one graph, of which some turn out to be the same.
class Dropping {
 public:
  Dropping(Graph& graph, uint32_t index) : graph_(graph), index_(index), g_(graph.contents.graphs[index]), now_(g_.values.size()), made_(now_.size()), output_(now_.size()), read_(now_.size()) {
    std::iota(now_.begin(), now_.end(), 0u);
    for (uint32_t v : g_.outputs) output_[v] = true;
    for (const image::Node& node : g_.nodes) {
      for (uint32_t v : node.outputs)
        if (v != OPTIMA_NONE) made_[v] = true;
      for (uint32_t v : node.inputs)
        if (v != OPTIMA_NONE) read_[v] = true;
      for_each_body(node, [&](uint32_t body) {
        for (const image::Capture& c : graph.contents.graphs[body].captures) read_[c.outer] = true;
      });
    }
  }

  void run() {
    std::vector<bool> dropped(g_.nodes.size());
    for (size_t n = 0; n < g_.nodes.size(); ++n) dropped[n] = is_dropped(g_.nodes[n]) && join(find(g_.nodes[n].inputs[0]), g_.nodes[n].outputs[0]);
    for (size_t n = 0; n < g_.nodes.size(); ++n)
      if (!dropped[n]) rename(g_.nodes[n]);
    remove_nodes(graph_, index_, dropped, "identity");
  }

 private:
  uint32_t find(uint32_t v) {
    while (now_[v] != v) v = now_[v] = now_[now_[v]];
    return v;
  }

  // Of Dropout where nobody wants the mask.
  bool is_dropped(const image::Node& node) const {
    const uint32_t mask = node.outputs.size() > 1 ? node.outputs[1] : OPTIMA_NONE;
    return hands_on(graph_, g_, node) && (mask == OPTIMA_NONE || (!read_[mask] && !output_[mask]));
  }

  // True when what a node gets and gives are one value from here on.
  bool join(uint32_t from, uint32_t to) {
    const bool onwards = !output_[to], backwards = !onwards && made_[from] && !output_[from];
    if (!onwards && !backwards) return false;
    const std::optional<image::Value> type = both(g_.values[from], g_.values[to]);
    if (!type) return false;
    const uint32_t stays = onwards ? from : to;
    now_[onwards ? to : from] = stays;
    g_.values[stays].kind = type->kind, g_.values[stays].dtype = type->dtype, g_.values[stays].dims = type->dims;
    return true;
  }

  void rename(image::Node& node) {
    for (auto* values : {&node.inputs, &node.outputs})
      for (uint32_t& v : *values)
        if (v != OPTIMA_NONE) v = find(v);
    for_each_body(node, [&](uint32_t body) {
      image::Graph& inner = graph_.contents.graphs[body];
      for (image::Capture& c : inner.captures) c.outer = find(c.outer);
      join_captures(graph_, g_, inner);
      follow_names(g_, inner);
    });
  }

  Graph& graph_;
  const uint32_t index_;
  image::Graph& g_;
  std::vector<uint32_t> now_;  // by value: what it has become, step by step
  std::vector<bool> made_, output_, read_;
};

}  // namespace

Status drop_identities(Graph& graph, const OwnOperators& /*own*/) {
  for (uint32_t g = 0; g < graph.contents.graphs.size(); ++g) Dropping(graph, g).run();
  tidy(graph);
  return {};
}

}  // namespace optima::passes
