// SPDX-License-Identifier: Apache-2.0
// core/onnx_io: sequences and optionals among a model's inputs.
#include "core/onnx_io/listed_inputs.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/support/log.hpp"
#include "core/support/text.hpp"

namespace optima::onnx_io {
namespace {

using onnx::AttributeProto;
using onnx::GraphProto;
using onnx::NodeProto;
using onnx::TypeProto;
using onnx::ValueInfoProto;

constexpr int64_t kMostTensors = 1024;

void rename_reads(GraphProto& g, const std::string& from, const std::string& to) {
  for (NodeProto& node : *g.mutable_node()) {
    for (std::string& in : *node.mutable_input())
      if (in == from) in = to;
    for (AttributeProto& a : *node.mutable_attribute()) {
      if (a.has_g()) rename_reads(*a.mutable_g(), from, to);
      for (GraphProto& body : *a.mutable_graphs()) rename_reads(body, from, to);
    }
  }
  for (ValueInfoProto& out : *g.mutable_output())
    if (out.name() == from) out.set_name(to);
}

// The inputs one by one, and the nodes in front of all others.
class Lister {
 public:
  Lister(GraphProto& graph, ImportOptions options) : graph_(graph), options_(std::move(options)) {}

  Result<ImportOptions> run() {
    google::protobuf::RepeatedPtrField<ValueInfoProto> before;
    before.Swap(graph_.mutable_input());
    for (const ValueInfoProto& input : before) OPTIMA_RETURN_IF_ERROR(list(input));
    for (NodeProto& node : *graph_.mutable_node()) *nodes_.Add() = std::move(node);
    graph_.mutable_node()->Swap(&nodes_);
    return std::move(options_);
  }

 private:
  Status list(const ValueInfoProto& input) {
    const TypeProto& type = input.type();
    const bool optional = type.has_optional_type(), is_output = std::any_of(graph_.output().begin(), graph_.output().end(), [&](const auto& o) { return o.name() == input.name(); });
    const TypeProto& inner = optional ? type.optional_type().elem_type() : type;
    const bool sequence = inner.has_sequence_type() && inner.sequence_type().elem_type().has_tensor_type();
    if ((!sequence && !(optional && inner.has_tensor_type())) || (optional && is_output)) return keep(input);
    OPTIMA_ASSIGN(const std::optional<int64_t> count, said(input.name(), sequence ? kMostTensors : 1));
    if (optional && count == 0) return nothing(input.name(), inner), Status();
    if (!sequence) return one(input.name(), inner), Status();
    if (count) return many(input.name(), inner.sequence_type().elem_type(), *count, optional), Status();
    log(LogLevel::Warn, "onnx_io", cat("input ", quote(input.name()), " is a sequence of tensors, as many as the run gives: --dim ", input.name(), "=N says how many"));
    return keep(input);
  }

  Status keep(const ValueInfoProto& input) {
    *graph_.add_input() = input;
    return {};
  }

  Result<std::optional<int64_t>> said(const std::string& name, int64_t most) {
    const auto dim = options_.dims.find(name);
    if (dim == options_.dims.end()) return std::optional<int64_t>();
    if (dim->second < 0 || dim->second > most) return invalid_input(cat("--dim ", name, ": ", dim->second, " tensors, wanted 0 to ", most));
    const std::optional<int64_t> out = dim->second;
    options_.dims.erase(dim);
    return out;
  }

  void add_input(const std::string& name, const TypeProto& type) {
    ValueInfoProto& made = *graph_.add_input();
    made.set_name(name);
    *made.mutable_type() = type;
  }

  NodeProto& add_node(const std::string& name, const std::string& op, const std::string& output) {
    NodeProto& node = *nodes_.Add();
    node.set_name(cat(name, "/", op));
    node.set_op_type(op);
    node.add_output(output);
    return node;
  }

  // The input keeps its name, so who reads the optional reads another.
  void one(const std::string& name, const TypeProto& tensor) {
    const std::string inside = cat(name, "/optional");
    rename_reads(graph_, name, inside);
    add_input(name, tensor);
    add_node(name, "Optional", inside).add_input(name);
  }

  void nothing(const std::string& name, const TypeProto& type) {
    AttributeProto& a = *add_node(name, "Optional", name).add_attribute();
    a.set_name("type"), a.set_type(AttributeProto::TYPE_PROTO);
    *a.mutable_tp() = type;
  }

  // Tensors of one sequence may differ in what its type leaves open.
  void many(const std::string& name, TypeProto tensor, int64_t count, bool optional) {
    if (tensor.tensor_type().has_shape())
      for (auto& dim : *tensor.mutable_tensor_type()->mutable_shape()->mutable_dim()) dim.clear_dim_param();
    const std::string list = optional ? cat(name, "/sequence") : name;
    NodeProto& node = add_node(name, count > 0 ? "SequenceConstruct" : "SequenceEmpty", list);
    for (int64_t k = 0; k < count; ++k) {
      add_input(cat(name, "[", k, "]"), tensor);
      node.add_input(cat(name, "[", k, "]"));
    }
    if (count == 0) {
      AttributeProto& a = *node.add_attribute();
      a.set_name("dtype"), a.set_type(AttributeProto::INT), a.set_i(tensor.tensor_type().elem_type());
    }
    if (optional) add_node(name, "Optional", name).add_input(list);
  }

  GraphProto& graph_;
  ImportOptions options_;
  google::protobuf::RepeatedPtrField<NodeProto> nodes_;
};

}  // namespace

Result<ImportOptions> list_inputs(GraphProto& graph, ImportOptions options) {
  const bool any = std::any_of(graph.input().begin(), graph.input().end(), [](const ValueInfoProto& v) { return v.type().has_sequence_type() || v.type().has_optional_type(); });
  if (!any) return options;
  return Lister(graph, std::move(options)).run();
}

}  // namespace optima::onnx_io
