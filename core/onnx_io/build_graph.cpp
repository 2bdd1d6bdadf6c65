// SPDX-License-Identifier: Apache-2.0
// core/onnx_io: the library's model -> Graph.
#include "core/onnx_io/build_graph.hpp"

#include <set>
#include <string_view>

#include "core/onnx_io/contributed.hpp"
#include "core/onnx_io/convert.hpp"
#include "core/onnx_io/node_schema.hpp"
#include "core/onnx_io/tensors.hpp"
#include "core/onnx_io/types.hpp"
#include "core/support/text.hpp"

namespace optima::onnx_io {
namespace {

using onnx::AttributeProto;
using onnx::GraphProto;
using onnx::NodeProto;

// One graph while it is built. Names resolve in it first, then outwards; what is found outside becomes a capture.
struct Scope {
  const GraphProto& source;
  Scope* outer;
  image::Graph made;
  std::unordered_map<std::string_view, uint32_t> values;
  std::unordered_map<std::string_view, const onnx::TypeProto*> types;
};

class Builder {
 public:
  Builder(const onnx::ModelProto& model, std::span<const Blob> moved, const SourceNames& names)
      : model_(model), moved_(moved), names_(names), opset_(opset_of(model, "")) {}

  Result<Graph> run() {
    OPTIMA_ASSIGN(const uint32_t main, build(model_.graph(), nullptr));
    (void)main;
    for (const auto& o : model_.opset_import()) {
      if (!o.domain().empty() && !domains_.count(o.domain())) continue;  // of inlined functions
      const bool restated = o.domain().empty() && o.version() > kCanonicalOpset && all_canonical_;
      out_.contents.opsets.emplace_back(o.domain(), restated ? kCanonicalOpset : o.version());
    }
    return std::move(out_);
  }

 private:
  Result<uint32_t> build(const GraphProto& source, Scope* outer) {
    const auto index = static_cast<uint32_t>(out_.contents.graphs.size());
    out_.contents.graphs.emplace_back();
    Scope scope{source, outer, {}, {}, {}};
    scope.made.name = source.name();
    for (const auto* list : {&source.value_info(), &source.input(), &source.output()})
      for (const auto& v : *list) scope.types[v.name()] = &v.type();
    for (const auto& v : source.input()) scope.made.inputs.push_back(add_value(scope, v.name()));
    for (const auto& t : source.initializer()) OPTIMA_RETURN_IF_ERROR(add_constant(scope, t.name(), t));
    for (const auto& t : source.sparse_initializer()) OPTIMA_RETURN_IF_ERROR(add_constant(scope, t.values().name(), t));
    for (const auto& node : source.node()) OPTIMA_RETURN_IF_ERROR(add_node(scope, node));
    for (const auto& v : source.output()) {
      OPTIMA_ASSIGN(const uint32_t value, lookup(scope, v.name()));
      scope.made.outputs.push_back(value);
    }
    out_.contents.graphs[index] = std::move(scope.made);
    return index;
  }

  uint32_t add_value(Scope& scope, const std::string& name) {
    const auto index = static_cast<uint32_t>(scope.made.values.size());
    image::Value value;
    value.name = name;
    value.kind = OPTIMA_KIND_UNKNOWN;
    if (const auto type = scope.types.find(name); type != scope.types.end()) set_type(value, *type->second);
    scope.values[name] = index;
    scope.made.values.push_back(std::move(value));
    return index;
  }

  template <class T>
  Result<uint32_t> make_constant(const T& tensor) {
    OPTIMA_ASSIGN(Tensor decoded, decode(tensor, moved_));
    return keep(decoded.constant.dtype, std::move(decoded.constant.dims), std::move(decoded.bytes));
  }
  uint32_t keep(int32_t dtype, std::vector<int64_t> dims, Blob bytes) {
    image::Constant& constant = out_.contents.constants.emplace_back();
    constant.dtype = dtype;
    constant.dims = std::move(dims);
    constant.blob = static_cast<uint32_t>(out_.blobs.size());
    out_.blobs.push_back(std::move(bytes));
    return static_cast<uint32_t>(out_.contents.constants.size()) - 1;
  }

  template <class T>
  Status add_constant(Scope& scope, const std::string& name, const T& tensor) {
    OPTIMA_ASSIGN(const uint32_t constant, make_constant(tensor));
    add_constant_value(scope, name, constant);
    return {};
  }
  void add_constant_value(Scope& scope, const std::string& name, uint32_t constant) {
    image::Value& value = scope.made.values[add_value(scope, name)];
    const image::Constant& c = out_.contents.constants[constant];
    value.kind = OPTIMA_KIND_TENSOR;
    value.dtype = c.dtype;
    value.constant = constant;
    value.dims.emplace();
    for (int64_t d : c.dims) value.dims->push_back({d, ""});
  }

  Result<uint32_t> lookup(Scope& scope, const std::string& name) {
    if (const auto known = scope.values.find(name); known != scope.values.end()) return known->second;
    if (!scope.outer) return invalid_input(cat("value ", quote(name), " is made by no node"));
    OPTIMA_ASSIGN(const uint32_t outer, lookup(*scope.outer, name));
    const image::Value value = scope.outer->made.values[outer];
    const auto inner = static_cast<uint32_t>(scope.made.values.size());
    scope.made.values.push_back(value);
    scope.made.values[inner].name = name;
    scope.values[scope.outer->values.find(name)->first] = inner;
    if (value.constant == OPTIMA_NONE) scope.made.captures.push_back({outer, inner});
    return inner;
  }

  Status add_node(Scope& scope, const NodeProto& source) {
    if (source.domain().empty() && source.op_type() == "Constant" && source.output_size() == 1) return add_constant_node(scope, source);
    image::Node node;
    node.name = source.name();
    node.op_type = source.op_type();
    node.domain = source.domain();
    domains_.insert(node.domain);
    node.id = static_cast<uint32_t>(out_.origins.size());
    const auto origin = names_.by_name.find(node.name);
    out_.origins.push_back(origin != names_.by_name.end() ? origin->second : Origin{"", opset_of(model_, source.domain())});
    for (const std::string& in : source.input()) {
      uint32_t value = OPTIMA_NONE;
      if (!in.empty()) { OPTIMA_ASSIGN(value, lookup(scope, in)); }
      node.inputs.push_back(value);
    }
    // Bodies first: a body sees what stands before its node, never the node's own outputs.
    for (const AttributeProto& a : source.attribute()) {
      OPTIMA_ASSIGN(image::Attr made, attribute(&scope, a));
      node.attrs.push_back(std::move(made));
    }
    if (rounds_to_bytes(source)) node.flags |= OPTIMA_NODE_ROUNDS_TO_BYTES;
    for (const std::string& out : source.output()) node.outputs.push_back(out.empty() ? OPTIMA_NONE : add_value(scope, out));
    OPTIMA_RETURN_IF_ERROR(state(scope, source, node));
    scope.made.nodes.push_back(std::move(node));
    return {};
  }

  // Which schema version the node is stated at, and the attributes that one fills in.
  Status state(Scope& scope, const NodeProto& source, image::Node& node) {
    auto value = [&](const std::vector<uint32_t>& list, int k) -> const image::Value* {
      const uint32_t v = list[static_cast<size_t>(k)];
      return v == OPTIMA_NONE ? nullptr : &scope.made.values[v];
    };
    const Operands operands{[&](int k) { return value(node.inputs, k); }, [&](int k) { return value(node.outputs, k); }};
    const int64_t version = source.domain().empty() ? opset_ : opset_of(model_, source.domain());
    node.since_version = static_cast<int32_t>(version);
    const onnx::OpSchema* schema = schema_of(source, version, operands);
    if (!schema) return {};
    node.since_version = schema->SinceVersion();
    const auto* canonical = onnx::OpSchemaRegistry::Schema(source.op_type(), static_cast<int>(kCanonicalOpset), "");
    if (source.domain().empty() && opset_ > kCanonicalOpset && schema != canonical) all_canonical_ = false;
    for (const AttributeProto* a : missing_defaults(*schema, source)) {
      OPTIMA_ASSIGN(image::Attr made, attribute(nullptr, *a));
      made.flags |= OPTIMA_ATTR_IS_DEFAULT;
      node.attrs.push_back(std::move(made));
    }
    return {};
  }

  Result<image::Attr> attribute(Scope* scope, const AttributeProto& a) {
    image::Attr out;
    out.name = a.name();
    out.type = a.type();
    switch (a.type()) {
      case AttributeProto::INT: out.i = a.i(); break;
      case AttributeProto::FLOAT: out.f = static_cast<double>(a.f()); break;
      case AttributeProto::STRING: out.s = a.s(); break;
      case AttributeProto::INTS: out.ints.assign(a.ints().begin(), a.ints().end()); break;
      case AttributeProto::FLOATS: out.floats.assign(a.floats().begin(), a.floats().end()); break;
      case AttributeProto::STRINGS: out.strings.assign(a.strings().begin(), a.strings().end()); break;
      case AttributeProto::TYPE_PROTO: out.s = type_attribute(a.tp()); break;
      case AttributeProto::TYPE_PROTOS:
        for (const auto& type : a.type_protos()) out.strings.push_back(type_attribute(type));
        break;
      case AttributeProto::TENSOR: OPTIMA_RETURN_IF_ERROR(add_ref(out, a.t())); break;
      case AttributeProto::TENSORS:
        for (const auto& t : a.tensors()) OPTIMA_RETURN_IF_ERROR(add_ref(out, t));
        break;
      case AttributeProto::SPARSE_TENSOR:
        out.type = OPTIMA_ATTR_TENSOR;
        OPTIMA_RETURN_IF_ERROR(add_ref(out, a.sparse_tensor()));
        break;
      case AttributeProto::SPARSE_TENSORS:
        out.type = OPTIMA_ATTR_TENSORS;
        for (const auto& t : a.sparse_tensors()) OPTIMA_RETURN_IF_ERROR(add_ref(out, t));
        break;
      case AttributeProto::GRAPH: OPTIMA_RETURN_IF_ERROR(add_body(out, a.g(), scope)); break;
      case AttributeProto::GRAPHS:
        for (const auto& body : a.graphs()) OPTIMA_RETURN_IF_ERROR(add_body(out, body, scope));
        break;
      default: return invalid_input(cat("attribute ", quote(a.name()), " has type ", static_cast<int>(a.type()), ", which is not known"));
    }
    return out;
  }
  template <class T>
  Status add_ref(image::Attr& out, const T& tensor) {
    OPTIMA_ASSIGN(const uint32_t constant, make_constant(tensor));
    out.refs.push_back(constant);
    return {};
  }
  Status add_body(image::Attr& out, const GraphProto& body, Scope* scope) {
    OPTIMA_ASSIGN(const uint32_t index, build(body, scope));
    out.refs.push_back(index);
    return {};
  }

  Status add_constant_node(Scope& scope, const NodeProto& node) {
    for (const AttributeProto& a : node.attribute()) {
      if (a.name().rfind("value", 0) != 0 && a.name() != "sparse_value") continue;
      OPTIMA_ASSIGN(const uint32_t constant, constant_of(a));
      add_constant_value(scope, node.output(0), constant);
      if (names_.by_name.count(node.name())) out_.folded.push_back({node.name(), "Constant", "constant"});
      return {};
    }
    return invalid_input(cat(node_text(node), ": no value"));
  }

  Result<uint32_t> constant_of(const AttributeProto& a) {
    switch (a.type()) {
      case AttributeProto::TENSOR: return make_constant(a.t());
      case AttributeProto::SPARSE_TENSOR: return make_constant(a.sparse_tensor());
      case AttributeProto::FLOAT: return numbers(OPTIMA_F32, std::vector<float>{a.f()}, {});
      case AttributeProto::INT: return numbers(OPTIMA_I64, std::vector<int64_t>{a.i()}, {});
      case AttributeProto::FLOATS: return numbers(OPTIMA_F32, std::vector<float>(a.floats().begin(), a.floats().end()), {a.floats_size()});
      case AttributeProto::INTS: return numbers(OPTIMA_I64, std::vector<int64_t>(a.ints().begin(), a.ints().end()), {a.ints_size()});
      case AttributeProto::STRING: return keep(OPTIMA_STRING, {}, string_bytes({a.s()}));
      case AttributeProto::STRINGS: return keep(OPTIMA_STRING, {a.strings_size()}, string_bytes({a.strings().begin(), a.strings().end()}));
      default: return invalid_input(cat("Constant with attribute ", quote(a.name()), " of type ", static_cast<int>(a.type())));
    }
  }
  template <class T>
  uint32_t numbers(int32_t dtype, const std::vector<T>& values, std::vector<int64_t> dims) {
    return keep(dtype, std::move(dims), Blob::copy(values.data(), values.size() * sizeof(T)));
  }

  const onnx::ModelProto& model_;
  std::span<const Blob> moved_;
  const SourceNames& names_;
  int64_t opset_;
  bool all_canonical_ = true;
  std::set<std::string> domains_;  // that nodes are of
  Graph out_;
};

}  // namespace

Result<Graph> build_graph(const onnx::ModelProto& model, std::span<const Blob> moved, const SourceNames& names) {
  return Builder(model, moved, names).run();
}

}  // namespace optima::onnx_io
