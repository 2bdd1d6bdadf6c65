// SPDX-License-Identifier: Apache-2.0
// core/onnx_io: Graph -> messages of the ONNX library.
#include "core/onnx_io/to_onnx.hpp"

#include <cstring>

#include "core/onnx_io/tensors.hpp"
#include "core/onnx_io/types.hpp"
#include "core/support/text.hpp"
#include "onnx/defs/data_type_utils.h"

namespace optima::onnx_io {

void fill_inline(const image::Constant& constant, const Blob& bytes, onnx::TensorProto& tensor) {
  if (constant.dtype != OPTIMA_STRING) {
    tensor.set_raw_data(bytes.data, bytes.size);
    return;
  }
  const int64_t count = element_count(constant.dims);
  const auto* text = reinterpret_cast<const char*>(bytes.data) + count * 8;
  uint64_t start = 0;
  for (int64_t k = 0; k < count; ++k) {
    uint64_t end = 0;
    std::memcpy(&end, bytes.data + k * 8, 8);
    tensor.add_string_data(text + start, end - start);
    start = end;
  }
}

Status OnnxWriter::tensor(uint32_t constant, onnx::TensorProto& out) const {
  const image::Constant& c = graph_.contents.constants[constant];
  out.set_data_type(c.dtype);
  for (int64_t d : c.dims) out.add_dims(d);
  return fill_(c, out);
}

OnnxNames::OnnxNames(const Graph& of, uint32_t index, const OnnxNames* around) : outer(around), graph(index) {
  const image::Graph& g = of.contents.graphs[index];
  names.resize(g.values.size());
  inherited.resize(g.values.size());
  if (outer)
    for (const image::Capture& c : g.captures) names[c.inner] = outer->names[c.outer], inherited[c.inner] = true;
  auto taken = [&](const std::string& name) {
    for (const OnnxNames* scope = this; scope; scope = scope->outer)
      if (scope->by_name.count(name)) return true;
    return false;
  };
  // The constant that a name further out stands for; a body's copy of it needs no initializer of its own.
  auto constant_outside = [&](const std::string& name) {
    for (const OnnxNames* scope = outer; scope; scope = scope->outer)
      if (const auto it = scope->by_name.find(name); it != scope->by_name.end()) return of.contents.graphs[scope->graph].values[it->second].constant;
    return OPTIMA_NONE;
  };
  for (uint32_t v = 0; v < names.size(); ++v) {
    if (inherited[v]) continue;
    names[v] = g.values[v].name;
    const uint32_t constant = g.values[v].constant;
    if (constant != OPTIMA_NONE && outer && constant_outside(names[v]) == constant) {
      inherited[v] = true;
      continue;
    }
    while (taken(names[v])) names[v] += "/inner";
    by_name.emplace(names[v], v);  // names is full size already: its strings stay where they are
  }
}

Status OnnxWriter::node(const image::Node& node, const OnnxNames& names, onnx::NodeProto& out) const {
  out.set_name(node.name);
  out.set_op_type(node.op_type);
  out.set_domain(node.domain);
  for (uint32_t v : node.inputs) out.add_input(v == OPTIMA_NONE ? "" : names.names[v]);
  for (uint32_t v : node.outputs) out.add_output(v == OPTIMA_NONE ? "" : names.names[v]);
  for (const image::Attr& a : node.attrs)
    if (defaults_ == Defaults::Written || !(a.flags & OPTIMA_ATTR_IS_DEFAULT)) OPTIMA_RETURN_IF_ERROR(attribute(a, names, *out.add_attribute()));
  return {};
}

Status OnnxWriter::attribute(const image::Attr& a, const OnnxNames& names, onnx::AttributeProto& out) const {
  using onnx::Utils::DataTypeUtils;
  out.set_name(a.name);
  out.set_type(static_cast<onnx::AttributeProto::AttributeType>(a.type));
  switch (a.type) {
    case OPTIMA_ATTR_INT: out.set_i(a.i); break;
    case OPTIMA_ATTR_FLOAT: out.set_f(static_cast<float>(a.f)); break;
    case OPTIMA_ATTR_STRING: out.set_s(a.s); break;
    case OPTIMA_ATTR_INTS: out.mutable_ints()->Add(a.ints.begin(), a.ints.end()); break;
    case OPTIMA_ATTR_FLOATS:
      for (double f : a.floats) out.add_floats(static_cast<float>(f));
      break;
    case OPTIMA_ATTR_STRINGS:
      for (const std::string& s : a.strings) out.add_strings(s);
      break;
    case OPTIMA_ATTR_TYPE: *out.mutable_tp() = DataTypeUtils::ToTypeProto(DataTypeUtils::ToType(a.s)); break;
    case OPTIMA_ATTR_TYPES:
      for (const std::string& s : a.strings) *out.add_type_protos() = DataTypeUtils::ToTypeProto(DataTypeUtils::ToType(s));
      break;
    case OPTIMA_ATTR_TENSOR: return tensor(a.refs[0], *out.mutable_t());
    case OPTIMA_ATTR_TENSORS:
      for (uint32_t ref : a.refs) OPTIMA_RETURN_IF_ERROR(tensor(ref, *out.add_tensors()));
      break;
    case OPTIMA_ATTR_GRAPH: return graph(a.refs[0], &names, *out.mutable_g());
    case OPTIMA_ATTR_GRAPHS:
      for (uint32_t ref : a.refs) OPTIMA_RETURN_IF_ERROR(graph(ref, &names, *out.add_graphs()));
      break;
    default: return internal_error(cat("attribute ", quote(a.name), " has type ", a.type));
  }
  return {};
}

Status OnnxWriter::graph(uint32_t index, const OnnxNames* outer, onnx::GraphProto& out) const {
  const image::Graph& g = graph_.contents.graphs[index];
  const OnnxNames names(graph_, index, outer);
  out.set_name(g.name.empty() ? "graph" : g.name);
  std::vector<bool> at_an_end(g.values.size());
  auto put = [&](uint32_t v, onnx::ValueInfoProto& info) {
    info.set_name(names.names[v]);
    // A type that says nothing is not the same to the library as none: inference then contradicts it.
    if (onnx::TypeProto type = to_type(g.values[v]); type.value_case() != onnx::TypeProto::VALUE_NOT_SET) *info.mutable_type() = std::move(type);
    at_an_end[v] = true;
  };
  // What is in an optional a Value does not say; where the type can be inferred it is better left out.
  auto known = [&](uint32_t v) { return g.values[v].dtype != OPTIMA_UNDEFINED && g.values[v].kind != OPTIMA_KIND_OPTIONAL; };
  for (uint32_t v : g.inputs) put(v, *out.add_input());
  for (uint32_t v : g.outputs) put(v, *out.add_output());
  for (uint32_t v = 0; v < g.values.size(); ++v) {
    if (names.inherited[v]) continue;
    if (g.values[v].constant != OPTIMA_NONE) {
      onnx::TensorProto& t = *out.add_initializer();
      t.set_name(names.names[v]);
      OPTIMA_RETURN_IF_ERROR(tensor(g.values[v].constant, t));
    } else if (!at_an_end[v] && known(v)) {
      put(v, *out.add_value_info());
    }
  }
  for (const image::Node& n : g.nodes) OPTIMA_RETURN_IF_ERROR(node(n, names, *out.add_node()));
  return {};
}

}  // namespace optima::onnx_io
