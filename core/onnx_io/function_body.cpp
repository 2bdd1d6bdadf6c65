// SPDX-License-Identifier: Apache-2.0
// core/onnx_io: a node and the text of its operator's function -> the function's Graph. The library's inliner does the work, on a
// model of that one node.
#include <algorithm>

#include "core/onnx_io/convert.hpp"
#include "core/onnx_io/load.hpp"
#include "core/onnx_io/onnx_guard.hpp"
#include "core/onnx_io/structure.hpp"
#include "core/onnx_io/to_onnx.hpp"
#include "core/onnx_io/types.hpp"
#include "core/support/text.hpp"
#include "onnx/defs/parser.h"

namespace optima::onnx_io {
namespace {

using onnx::FunctionProto;
using onnx::NodeProto;

std::string full_name(const std::string& domain, const std::string& op) { return domain.empty() ? op : cat(domain, "::", op); }

Status parse(std::string_view text, FunctionProto& function) {
  return guarded("the text", [&] {
    onnx::OnnxParser parser(text);
    const auto parsed = parser.Parse(function);
    if (!parsed.IsOK()) return invalid_input(cat("the text does not parse: ", one_line(parsed.ErrorMessage())));
    return parser.EndOfInput() ? Status() : invalid_input("the text goes on behind the function");
  });
}

bool calls(const NodeProto& node, const NodeProto& wanted) {
  if (node.op_type() == wanted.op_type() && node.domain() == wanted.domain()) return true;
  const auto in = [&](const onnx::GraphProto& body) { return std::any_of(body.node().begin(), body.node().end(), [&](const NodeProto& n) { return calls(n, wanted); }); };
  return std::any_of(node.attribute().begin(), node.attribute().end(), [&](const onnx::AttributeProto& a) {
    return (a.has_g() && in(a.g())) || std::any_of(a.graphs().begin(), a.graphs().end(), in);
  });
}

// The function is that of this node, by name, domain and number of operands. What it leaves out of the domain is filled in.
Status check_head(const NodeProto& node, FunctionProto& function) {
  if (function.domain().empty()) function.set_domain(node.domain());
  if (function.domain() != node.domain() || function.name() != node.op_type())
    return invalid_input(cat("the text is of ", full_name(function.domain(), function.name()), ", wanted ", full_name(node.domain(), node.op_type())));
  if (node.input_size() > function.input_size())
    return invalid_input(cat("the function has ", function.input_size(), " inputs, the node has ", node.input_size()));
  if (node.output_size() > function.output_size())
    return invalid_input(cat("the function has ", function.output_size(), " outputs, the node has ", node.output_size()));
  if (std::any_of(function.node().begin(), function.node().end(), [&](const NodeProto& n) { return calls(n, node); }))
    return invalid_input("the function holds itself");
  return {};
}

// The node with its attributes, and operands whose names only say their position.
Status write_node(const Graph& graph, const image::Node& node, NodeProto& out) {
  if (std::any_of(node.attrs.begin(), node.attrs.end(), holds_body)) return invalid_input("the node holds bodies, wanted one without for a function");
  const auto fill = [&](const image::Constant& c, onnx::TensorProto& t) { return fill_inline(c, graph.blobs[c.blob], t), Status(); };
  const OnnxNames names(graph, 0, nullptr);
  image::Node bare = node;
  bare.inputs.clear();
  bare.outputs.clear();
  OPTIMA_RETURN_IF_ERROR(OnnxWriter(graph, fill, Defaults::Written).node(bare, names, out));
  for (size_t k = 0; k < node.inputs.size(); ++k) out.add_input(node.inputs[k] == OPTIMA_NONE ? "" : cat("in_", k));
  for (size_t k = 0; k < node.outputs.size(); ++k) out.add_output(node.outputs[k] == OPTIMA_NONE ? "" : cat("out_", k));
  return {};
}

void add_opsets(const Graph& graph, const FunctionProto& function, onnx::ModelProto& model) {
  *model.mutable_opset_import() = function.opset_import();
  for (const auto& [domain, version] : graph.contents.opsets) {
    if (opset_of(model, domain) != 0) continue;
    auto& o = *model.add_opset_import();
    o.set_domain(domain), o.set_version(version);
  }
  model.set_ir_version(ir_of_opset(opset_of(model, "")));
}

Status build(const Graph& graph, const image::Node& node, std::string_view text, std::span<const image::Value> inputs, onnx::ModelProto& model) {
  FunctionProto function;
  OPTIMA_RETURN_IF_ERROR(parse(text, function));
  onnx::GraphProto& main = *model.mutable_graph();
  NodeProto& call = *main.add_node();
  OPTIMA_RETURN_IF_ERROR(write_node(graph, node, call));
  OPTIMA_RETURN_IF_ERROR(check_head(call, function));
  main.set_name("function_body");
  for (int k = 0; k < call.input_size(); ++k) {
    if (call.input(k).empty()) continue;
    auto& input = *main.add_input();
    input.set_name(call.input(k));
    *input.mutable_type() = to_type(inputs[static_cast<size_t>(k)]);
  }
  for (const std::string& name : call.output())
    if (!name.empty()) main.add_output()->set_name(name);
  add_opsets(graph, function, model);
  *model.add_functions() = std::move(function);
  return {};
}

}  // namespace

Result<Graph> expand_function(const optima_graph& raw, uint32_t node_index, std::string_view text, std::span<const image::Value> inputs,
                              const InferForeign& foreign) {
  const Graph graph = unpack(raw);
  const optima_node& at = *optima_get_node(raw.image, node_index);
  const image::Node& node = graph.contents.graphs[at.graph].nodes[node_index - optima_get_graph(raw.image, at.graph)->nodes.first];
  onnx::ModelProto model;
  OPTIMA_RETURN_IF_ERROR(guarded("the function", [&] { return build(graph, node, text, inputs, model); }));
  ImportOptions options;
  options.infer_foreign = foreign;
  options.hash = false;
  return import_model(std::move(model), options);
}

}  // namespace optima::onnx_io
