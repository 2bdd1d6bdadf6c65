// SPDX-License-Identifier: Apache-2.0
// core/passes: Loops that carry less.
#include "core/passes/free_unchanged.hpp"

#include <utility>

#include "core/flow/node.hpp"
#include "core/passes/bodies.hpp"
#include "core/support/text.hpp"

namespace optima::passes {
namespace {

// By value of a body: what it was before it went through Identities.
std::vector<uint32_t> origins_of(const image::Graph& g) {
  std::vector<uint32_t> out(g.values.size());
  for (uint32_t v = 0; v < out.size(); ++v) out[v] = v;
  for (const image::Node& node : g.nodes)
    if (node.op_type == "Identity" && node.domain.empty() && node.inputs.size() == 1 && node.outputs.size() == 1 && node.inputs[0] != OPTIMA_NONE && node.outputs[0] != OPTIMA_NONE)
      out[node.outputs[0]] = out[node.inputs[0]];
  return out;
}

// Whether what is of type `inner` may be of type `outer` as well.
bool agree(const image::Value& inner, const image::Value& outer) {
  if (inner.kind != OPTIMA_KIND_TENSOR || outer.kind != OPTIMA_KIND_TENSOR || inner.dtype != outer.dtype) return false;
  if (!inner.dims || !outer.dims) return true;
  if (inner.dims->size() != outer.dims->size()) return false;
  for (size_t d = 0; d < inner.dims->size(); ++d)
    if (const int64_t a = (*inner.dims)[d].value, b = (*outer.dims)[d].value; a >= 0 && b >= 0 && a != b) return false;
  return true;
}

// One graph's Loops.
class Freeing {
 public:
  Freeing(Graph& graph, uint32_t index, Bodies& bodies) : bodies_(bodies), index_(index), nodes_(std::exchange(graph.contents.graphs[index].nodes, {})) {}

  void run() {
    std::vector<image::Node> out;
    for (image::Node& node : nodes_) {
      const std::vector<size_t> unchanged = unchanged_of(node);
      std::vector<image::Node> behind;
      for (size_t k = unchanged.size(); k-- > 0;) free(node, unchanged[k], behind);
      out.push_back(std::move(node));
      std::move(behind.begin(), behind.end(), std::back_inserter(out));
    }
    bodies_.at(index_).nodes = std::move(out);
  }

 private:
  // Ascending numbers among what is carried.
  std::vector<size_t> unchanged_of(const image::Node& node) {
    if (flow_op(node) != FlowOp::Loop) return {};
    const FlowSignature signature = signature_of(node, FlowOp::Loop);
    const image::Attr* attr = bodies_in_order(node, FlowOp::Loop)[0];
    if (!attr || !signature.fits() || node.inputs.size() != signature.inputs || node.outputs.size() != signature.outputs) return {};
    const image::Graph& body = bodies_.at(attr->refs[0]);
    if (body.inputs.size() != signature.body_inputs() || body.outputs.size() != signature.body_outputs()) return {};
    std::vector<size_t> out;
    const std::vector<uint32_t> origins = origins_of(body);
    for (size_t k = 0; k < signature.carried; ++k) {
      const uint32_t outer = node.inputs[kLoopInputsAhead + k], in = body.inputs[kLoopInputsAhead + k];
      if (outer != OPTIMA_NONE && origins[body.outputs[kLoopOutputsAhead + k]] == in && agree(body.values[in], bodies_.value(index_, outer))) out.push_back(k);
    }
    return out;
  }

  void free(image::Node& node, size_t k, std::vector<image::Node>& behind) {
    const uint32_t index = bodies_in_order(node, FlowOp::Loop)[0]->refs[0], outer = node.inputs[kLoopInputsAhead + k], last = node.outputs[k];
    const auto at = static_cast<std::ptrdiff_t>(k);
    const uint32_t inner = bodies_.captured(index_, outer, index), carried = bodies_.at(index).inputs[kLoopInputsAhead + k];
    image::Node enters = identity(node, inner, carried);
    image::Graph& body = bodies_.at(index);
    body.inputs.erase(body.inputs.begin() + static_cast<std::ptrdiff_t>(kLoopInputsAhead) + at);
    body.outputs.erase(body.outputs.begin() + static_cast<std::ptrdiff_t>(kLoopOutputsAhead) + at);
    body.nodes.insert(body.nodes.begin(), std::move(enters));
    node.inputs.erase(node.inputs.begin() + static_cast<std::ptrdiff_t>(kLoopInputsAhead) + at);
    node.outputs.erase(node.outputs.begin() + at);
    if (last != OPTIMA_NONE) behind.push_back(identity(node, outer, last));
  }

  image::Node identity(const image::Node& of, uint32_t from, uint32_t to) { return bodies_.node(cat(of.name, "/unchanged"), "Identity", 21, {from}, {to}); }

  Bodies& bodies_;
  const uint32_t index_;
  std::vector<image::Node> nodes_;
};

}  // namespace

Status free_unchanged(Graph& graph, const OwnOperators& /*own*/) {
  Bodies bodies(graph);
  // A body stands behind the graph of its node: the inner ones first, behind whose Loops more is seen to be unchanged.
  for (auto index = static_cast<uint32_t>(graph.contents.graphs.size()); index-- > 0;) Freeing(graph, index, bodies).run();
  return {};
}

}  // namespace optima::passes
