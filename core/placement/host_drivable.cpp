// SPDX-License-Identifier: Apache-2.0
// core/placement: what the host can run itself. The signatures are those of ONNX, opset 21 (If, Loop) and 9 to 21 (Scan).
#include <cstring>

#include "core/placement/host_driven.hpp"
#include "core/support/text.hpp"

namespace optima::detail {
namespace {

const image::Attr* body_attr(const image::Node& node, std::string_view name) {
  for (const image::Attr& a : node.attrs)
    if (a.name == name && a.type == OPTIMA_ATTR_GRAPH) return &a;
  return nullptr;
}

class Judge {
 public:
  Judge(const Graph& graph, const image::Node& node) : graph_(graph), node_(node) {}

  std::string run() {
    if (!node_.domain.empty() || (node_.op_type != "If" && node_.op_type != "Loop" && node_.op_type != "Scan")) return "it is no If, Loop or Scan";
    if (std::string why = node_.op_type == "If" ? branches() : body(); !why.empty()) return why;
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

  const image::Graph* find(std::string_view name) const {
    const image::Attr* attr = body_attr(node_, name);
    return attr ? &graph_.contents.graphs[attr->refs[0]] : nullptr;
  }

 private:
  std::string branches() const {
    if (node_.inputs.size() != 1) return cat("it has ", node_.inputs.size(), " inputs, wanted 1");
    for (const char* name : {"then_branch", "else_branch"}) {
      const image::Graph* branch = find(name);
      if (!branch) return cat("it has no ", name);
      if (!branch->inputs.empty() || branch->outputs.size() != node_.outputs.size())
        return cat("its ", name, " has ", branch->inputs.size(), " inputs and ", branch->outputs.size(), " outputs, wanted 0 and ",
                   node_.outputs.size());
    }
    return "";
  }

  std::string body() const {
    const image::Graph* g = find("body");
    if (!g) return "it has no body";
    const bool loop = node_.op_type == "Loop";
    const size_t carried = loop ? node_.inputs.size() - std::min<size_t>(node_.inputs.size(), 2) : 0;
    const size_t scanned = loop ? 0 : static_cast<size_t>(std::max<int64_t>(0, scan_inputs()));
    if (!loop && (scanned < 1 || scanned > node_.inputs.size()))
      return cat("num_scan_inputs is ", scan_inputs(), ", wanted 1 to ", node_.inputs.size());
    const size_t states = loop ? carried : node_.inputs.size() - scanned;
    const size_t inputs = loop ? carried + 2 : node_.inputs.size(), outputs = node_.outputs.size() + (loop ? 1 : 0);
    if (g->inputs.size() != inputs || g->outputs.size() != outputs || node_.outputs.size() < states)
      return cat("its body has ", g->inputs.size(), " inputs and ", g->outputs.size(), " outputs, wanted ", inputs, " and ", outputs);
    return slices(*g, states, scanned);
  }

  // Slices must start at whole bytes.
  std::string slices(const image::Graph& body, size_t states, size_t scanned) const {
    const auto packed = [](const image::Value& v) { return optima_dtype_bits(v.dtype) % 8 != 0; };
    for (size_t k = node_.inputs.size() - scanned; k < node_.inputs.size(); ++k)
      if (node_.inputs[k] != OPTIMA_NONE && packed(graph_.main().values[node_.inputs[k]])) return packed_text(graph_.main().values[node_.inputs[k]]);
    for (size_t k = node_.outputs.size() - states; k > 0; --k)
      if (const image::Value& v = body.values[body.outputs[body.outputs.size() - k]]; packed(v)) return packed_text(v);
    return "";
  }
  static std::string packed_text(const image::Value& v) {
    return cat("scanned value ", quote(v.name), " is ", type_text(v), ", wanted elements of whole bytes");
  }

  int64_t scan_inputs() const {
    for (const image::Attr& a : node_.attrs)
      if (a.name == "num_scan_inputs") return a.i;
    return 0;
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

// The value of a constant of one integer or bool.
std::optional<int64_t> constant_int(const Graph& graph, const image::Graph& g, uint32_t v) {
  if (v == OPTIMA_NONE || g.values[v].constant == OPTIMA_NONE) return std::nullopt;
  const image::Constant& c = graph.contents.constants[g.values[v].constant];
  const Blob& blob = graph.blobs[c.blob];
  if (c.dtype == OPTIMA_BOOL && blob.size == 1) return blob.data[0] != std::byte{0};
  int64_t value = 0;
  if (c.dtype != OPTIMA_I64 || blob.size != sizeof value) return std::nullopt;
  std::memcpy(&value, blob.data, sizeof value);
  return value;
}

std::optional<int64_t> loop_trips(const Graph& graph, const image::Node& node, const image::Graph& body) {
  const std::optional<int64_t> most = node.inputs.empty() ? std::nullopt : constant_int(graph, graph.main(), node.inputs[0]);
  const std::optional<int64_t> go = node.inputs.size() < 2 || node.inputs[1] == OPTIMA_NONE ? 1 : constant_int(graph, graph.main(), node.inputs[1]);
  const bool goes_on = body.outputs[0] == body.inputs[1] || constant_int(graph, body, body.outputs[0]) == 1;
  if (go && *go == 0) return 0;
  return most && go && goes_on ? std::optional(std::max<int64_t>(0, *most)) : std::nullopt;
}

std::optional<int64_t> scan_trips(const Graph& graph, const image::Node& node) {
  size_t scanned = 0;
  int64_t axis = 0;
  for (const image::Attr& a : node.attrs) {
    if (a.name == "num_scan_inputs") scanned = static_cast<size_t>(a.i);
    if (a.name == "scan_input_axes" && !a.ints.empty()) axis = a.ints[0];
  }
  const auto& dims = graph.main().values[node.inputs[node.inputs.size() - scanned]].dims;
  if (!dims) return std::nullopt;
  const auto rank = static_cast<int64_t>(dims->size());
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank || (*dims)[static_cast<size_t>(axis)].value < 0) return std::nullopt;
  return (*dims)[static_cast<size_t>(axis)].value;
}

}  // namespace

std::string why_not_driven(const Graph& graph, const image::Node& node) { return Judge(graph, node).run(); }

std::vector<const image::Attr*> bodies_in_order(const image::Node& node) {
  if (node.op_type == "If") return {body_attr(node, "then_branch"), body_attr(node, "else_branch")};
  return {body_attr(node, "body")};
}

std::optional<int64_t> known_trips(const Graph& graph, const image::Node& node) {
  if (node.op_type == "Loop") return loop_trips(graph, node, *Judge(graph, node).find("body"));
  return node.op_type == "Scan" ? scan_trips(graph, node) : std::optional<int64_t>();
}

}  // namespace optima::detail
