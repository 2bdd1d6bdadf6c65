// SPDX-License-Identifier: Apache-2.0
#include "core/onnx_io/branch_errors.hpp"

#include <algorithm>
#include <set>

#include "core/flow/node.hpp"

namespace optima::onnx_io {
namespace {

using Names = std::set<std::string_view>;

void add_names(const onnx::GraphProto& g, bool in_branch, Names& out) {
  for (const onnx::NodeProto& node : g.node()) {
    if (in_branch) out.insert(node.name());
    const bool branches = in_branch || flow_op(node.domain(), node.op_type()) == FlowOp::If;
    for (const onnx::AttributeProto& a : node.attribute()) {
      if (a.has_g()) add_names(a.g(), branches, out);
      for (const onnx::GraphProto& body : a.graphs()) add_names(body, branches, out);
    }
  }
}

void add_names(const Graph& graph, const image::Node& node, bool in_branch, Names& out) {
  if (in_branch) out.insert(node.name);
  const bool branches = in_branch || flow_op(node) == FlowOp::If;
  for_each_body(node, [&](uint32_t body) {
    for (const image::Node& inner : graph.contents.graphs[body].nodes) add_names(graph, inner, branches, out);
  });
}

// One error a line, "... (op_type:If, node name: a): ... (op_type:Squeeze, node name: a/then_branch/b): text": the last node is where it is.
bool all_of(const Names& names, std::string_view message) {
  constexpr std::string_view kHead = ", node name: ", kEnd = "): ";
  bool any = false;
  for (size_t from = 0; from < message.size();) {
    const size_t end = std::min(message.find('\n', from), message.size());
    const std::string_view line = message.substr(from, end - from);
    from = end + 1;
    if (line.find_first_not_of(" \r") == std::string_view::npos) continue;
    const size_t head = line.rfind(kHead);
    if (head == std::string_view::npos) return false;
    const std::string_view rest = line.substr(head + kHead.size());
    if (!names.count(rest.substr(0, rest.find(kEnd)))) return false;
    any = true;
  }
  return any;
}

}  // namespace

bool only_in_branches(std::string_view message, const onnx::GraphProto& graph) {
  Names names;
  add_names(graph, false, names);
  return all_of(names, message);
}

bool only_in_branches(std::string_view message, const Graph& graph, const image::Node& node) {
  Names names;
  add_names(graph, node, false, names);
  return all_of(names, message);
}

}  // namespace optima::onnx_io
