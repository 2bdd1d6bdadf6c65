// SPDX-License-Identifier: Apache-2.0
// core/placement: what the host can run itself.
#include "core/flow/node.hpp"
#include "core/placement/host_driven.hpp"
#include "core/support/text.hpp"

namespace optima::detail {
namespace {

class Judge {
 public:
  Judge(const Graph& graph, const image::Node& node) : graph_(graph), node_(node) {}

  std::string run() {
    const std::optional<FlowOp> op = flow_op(node_);
    if (!op) return "it is no If, Loop or Scan";
    if (std::string why = *op == FlowOp::If ? branches() : body(*op); !why.empty()) return why;
    if (std::string why = carried(graph_.main(), node_.inputs); !why.empty()) return why;
    std::string why = carried(graph_.main(), node_.outputs);
    for_each_body(node_, [&](uint32_t index) {
      const image::Graph& g = graph_.contents.graphs[index];
      for (const auto* values : {&g.inputs, &g.outputs})
        if (why.empty()) why = carried(g, *values);
      for (const image::Capture& c : g.captures)
        if (why.empty()) why = carried(g, {c.inner});
    });
    return why;
  }

 private:
  const image::Graph* graph_of(const image::Attr* attr) const { return attr ? &graph_.contents.graphs[attr->refs[0]] : nullptr; }

  std::string branches() const {
    if (node_.inputs.size() != 1) return cat("it has ", node_.inputs.size(), " inputs, wanted 1");
    const FlowSignature wanted = signature_of(node_, FlowOp::If);
    const std::vector<const image::Attr*> attrs = bodies_in_order(node_, FlowOp::If);
    const std::vector<std::string> names = body_names(FlowOp::If);
    for (size_t b = 0; b < names.size(); ++b) {
      const image::Graph* branch = graph_of(attrs[b]);
      if (!branch) return cat("it has no ", names[b]);
      if (!matches(*branch, wanted)) return cat("its ", names[b], " has ", counts(*branch, wanted));
    }
    return "";
  }

  std::string body(FlowOp op) const {
    const image::Graph* g = graph_of(bodies_in_order(node_, op)[0]);
    if (!g) return "it has no body";
    const int64_t scanned = scanned_inputs(node_);
    if (op == FlowOp::Scan && (scanned < 1 || static_cast<uint64_t>(scanned) > node_.inputs.size()))
      return cat("num_scan_inputs is ", scanned, ", wanted 1 to ", node_.inputs.size());
    const FlowSignature wanted = signature_of(node_, op);
    return matches(*g, wanted) && wanted.fits() ? slices(*g, wanted) : cat("its body has ", counts(*g, wanted));
  }

  static bool matches(const image::Graph& g, const FlowSignature& wanted) {
    return g.inputs.size() == wanted.body_inputs() && g.outputs.size() == wanted.body_outputs();
  }
  static std::string counts(const image::Graph& g, const FlowSignature& wanted) {
    return cat(g.inputs.size(), " inputs and ", g.outputs.size(), " outputs, wanted ", wanted.body_inputs(), " and ", wanted.body_outputs());
  }

  // A scanned input goes by its type outside the body.
  std::string slices(const image::Graph& body, const FlowSignature& signature) const {
    for (const FlowRule& rule : signature.rules()) {
      if (rule.as) continue;
      const bool in = rule.end.at == FlowEnd::At::BodyInput;
      const uint32_t v = in ? node_.inputs[rule.end.index] : body.outputs[rule.end.index];
      if (v == OPTIMA_NONE) continue;
      const image::Value& value = (in ? graph_.main() : body).values[v];
      if (!has_whole_bytes(value.dtype)) return packed_text(value);
    }
    return "";
  }
  static std::string packed_text(const image::Value& v) {
    return cat("scanned value ", quote(v.name), " is ", type_text(v), ", wanted elements of whole bytes");
  }

  static std::string carried(const image::Graph& g, const std::vector<uint32_t>& values) {
    for (uint32_t v : values) {
      if (v == OPTIMA_NONE) continue;
      const image::Value& value = g.values[v];
      const bool tensor = value.kind == OPTIMA_KIND_TENSOR || value.kind == OPTIMA_KIND_UNKNOWN;
      if (!tensor || optima_dtype_bits(value.dtype) == 0)
        return cat("value ", quote(value.name), " is ", tensor ? type_text(value) : "no tensor", ", wanted a tensor of fixed-size elements");
    }
    return "";
  }

  const Graph& graph_;
  const image::Node& node_;
};

// Of a constant trip count or condition.
std::optional<int64_t> constant_scalar(const Graph& graph, const image::Graph& g, uint32_t v) {
  if (v == OPTIMA_NONE || g.values[v].constant == OPTIMA_NONE) return std::nullopt;
  const image::Constant& c = graph.contents.constants[g.values[v].constant];
  const Blob& blob = graph.blobs[c.blob];
  return flow_scalar(c.dtype, {blob.data, blob.size});
}

std::optional<int64_t> loop_trips(const Graph& graph, const image::Node& node) {
  const image::Graph& body = graph.contents.graphs[bodies_in_order(node, FlowOp::Loop)[0]->refs[0]];
  const auto input = [&](size_t i) { return i < node.inputs.size() ? node.inputs[i] : OPTIMA_NONE; };
  const std::optional<int64_t> most = constant_scalar(graph, graph.main(), input(kTripCount));
  const std::optional<int64_t> go = input(kLoopCondition) == OPTIMA_NONE ? 1 : constant_scalar(graph, graph.main(), input(kLoopCondition));
  const uint32_t next = body.outputs[kGoesOnNext];
  const bool goes_on = next == body.inputs[kGoesOn] || constant_scalar(graph, body, next) == 1;
  if (go && *go == 0) return 0;
  return most && go && goes_on ? std::optional(std::max<int64_t>(0, *most)) : std::nullopt;
}

std::optional<int64_t> scan_trips(const Graph& graph, const image::Node& node) {
  const FlowSignature signature = signature_of(node, FlowOp::Scan);
  const auto& dims = graph.main().values[node.inputs[signature.carried]].dims;
  if (!dims) return std::nullopt;
  const std::optional<size_t> axis = axis_of(scans_of(node, signature).inputs[0], dims->size());
  if (!axis || (*dims)[*axis].value < 0) return std::nullopt;
  return (*dims)[*axis].value;
}

}  // namespace

std::string why_not_driven(const Graph& graph, const image::Node& node) { return Judge(graph, node).run(); }

std::optional<int64_t> known_trips(const Graph& graph, const image::Node& node) {
  const std::optional<FlowOp> op = flow_op(node);
  if (op == FlowOp::Loop) return loop_trips(graph, node);
  return op == FlowOp::Scan ? scan_trips(graph, node) : std::nullopt;
}

}  // namespace optima::detail
