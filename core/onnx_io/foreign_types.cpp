// SPDX-License-Identifier: Apache-2.0
#include "core/onnx_io/foreign_types.hpp"

#include <algorithm>

#include "core/onnx_io/type_inference.hpp"
#include "core/onnx_io/types.hpp"
#include "core/support/text.hpp"

namespace optima::onnx_io {
namespace {

/// Types of the outputs of one node of a main graph; none when nobody knows them.
Result<std::vector<image::Value>> ask(const Graph& graph, uint32_t index, const Uses& uses, const InferForeign& foreign) {
  const image::Node& node = graph.main().nodes[index];
  const Graph alone = extract(graph, std::span(&index, 1), uses);
  const PackedGraph packed = pack(alone);
  OPTIMA_ASSIGN(std::vector<image::Value> found, foreign(packed.raw, 0));
  if (!found.empty() && found.size() != node.outputs.size())
    return invalid_input(cat("node ", quote(node.name), " (", node.op_type, "): its plugin gives ", found.size(), " output types, wanted ", node.outputs.size()));
  return found;
}

/// Gives the values of which something else was declared.
Result<std::vector<uint32_t>> take(image::Graph& g, const image::Node& node, const std::vector<image::Value>& found) {
  std::vector<uint32_t> corrected;
  for (size_t k = 0; k < found.size(); ++k) {
    if (node.outputs[k] == OPTIMA_NONE) continue;
    const Result<bool> other = correct(g.values[node.outputs[k]], found[k]);
    if (!other.ok()) return other.status().within(cat("node ", quote(node.name), " (", node.op_type, ")"));
    if (*other) corrected.push_back(node.outputs[k]);
  }
  return corrected;
}

std::string types_of(const image::Graph& g, const std::vector<uint32_t>& values) {
  std::string out;
  for (const uint32_t v : values)
    if (v != OPTIMA_NONE) out += type_text(g.values[v]) + ";";
  return out;
}

bool is_settled(const image::Graph& g, const image::Node& node) {
  return std::all_of(node.outputs.begin(), node.outputs.end(), [&](uint32_t v) {
    if (v == OPTIMA_NONE) return true;
    const auto& dims = g.values[v].dims;
    return g.values[v].dtype != OPTIMA_UNDEFINED && dims && std::all_of(dims->begin(), dims->end(), [](const image::Dim& d) { return d.value >= 0; });
  });
}

class Bodies {
 public:
  Bodies(Graph& graph, const InferForeign& foreign) : graph_(graph), foreign_(foreign) {}

  Status of(const image::Node& holder, uint32_t around) {
    Status status;
    for_each_body(holder, [&](uint32_t body) {
      if (status.ok()) status = in(body, around);
    });
    return status;
  }
  bool learned() const { return learned_; }

 private:
  Status in(uint32_t body, uint32_t around) {
    image::Graph& g = graph_.contents.graphs[body];
    for (const image::Capture& c : g.captures)
      (void)note([&] { return refine(g.values[c.inner], graph_.contents.graphs[around].values[c.outer]); }, g, {c.inner}).ok();
    for (uint32_t n = 0; n < g.nodes.size(); ++n) {
      const image::Node& node = g.nodes[n];
      if (is_known(node)) OPTIMA_RETURN_IF_ERROR(of(node, body));
      else if (!is_settled(g, node)) OPTIMA_RETURN_IF_ERROR(note([&] { return ask_in(body, n); }, g, node.outputs));
    }
    return {};
  }
  Status ask_in(uint32_t body, uint32_t n) {
    const BodyGraph alone = body_graph(graph_, body);
    OPTIMA_ASSIGN(const std::vector<image::Value> found, ask(alone.graph, n, uses_of(alone.graph), foreign_));
    image::Graph& g = graph_.contents.graphs[body];
    return take(g, g.nodes[n], found).status();
  }
  /// Runs `change` and notes whether it tells more about the values.
  template <class F>
  Status note(F&& change, const image::Graph& g, const std::vector<uint32_t>& values) {
    const std::string before = types_of(g, values);
    Status status = change();
    learned_ = learned_ || types_of(g, values) != before;
    return status;
  }

  Graph& graph_;
  const InferForeign& foreign_;
  bool learned_ = false;
};

}  // namespace

Result<std::vector<uint32_t>> infer_foreign(Graph& graph, uint32_t index, const Uses& uses, const InferForeign& foreign) {
  OPTIMA_ASSIGN(const std::vector<image::Value> found, ask(graph, index, uses, foreign));
  return take(graph.main(), graph.main().nodes[index], found);
}

Result<bool> infer_in_bodies(Graph& graph, const image::Node& holder, const InferForeign& foreign) {
  Bodies bodies(graph, foreign);
  OPTIMA_RETURN_IF_ERROR(bodies.of(holder, 0));
  return bodies.learned();
}

}  // namespace optima::onnx_io
