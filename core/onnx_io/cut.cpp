// SPDX-License-Identifier: Apache-2.0
// core/onnx_io: the user's changes to a model's ends.
#include "core/onnx_io/cut.hpp"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "core/onnx_io/declared.hpp"
#include "core/onnx_io/structure.hpp"
#include "core/support/text.hpp"

namespace optima::onnx_io {
namespace {

using onnx::GraphProto;
using onnx::ValueInfoProto;

std::unordered_map<std::string, ValueInfoProto> known_types(const GraphProto& g) {
  std::unordered_map<std::string, ValueInfoProto> types;
  for (const auto* list : {&g.value_info(), &g.output(), &g.input()})
    for (const ValueInfoProto& v : *list) types[v.name()] = v;
  for (const auto& t : g.initializer()) {
    ValueInfoProto& v = types[t.name()];
    v.set_name(t.name());
    v.mutable_type()->mutable_tensor_type()->set_elem_type(t.data_type());
    auto* shape = v.mutable_type()->mutable_tensor_type()->mutable_shape();
    shape->clear_dim();
    for (int64_t d : t.dims()) shape->add_dim()->set_dim_value(d);
  }
  return types;
}

std::vector<std::string> value_names(const GraphProto& g) {
  std::vector<std::string> names;
  for (const auto& v : g.input()) names.push_back(v.name());
  for (const auto& t : g.initializer()) names.push_back(t.name());
  for (const auto& node : g.node())
    for (const auto& out : node.output())
      if (!out.empty()) names.push_back(out);
  return names;
}

// The listed values as ValueInfos; a value without a known type gets none, which inference may still find.
Result<std::vector<ValueInfoProto>> pick(const GraphProto& g, const std::vector<std::string>& wanted, std::string_view option) {
  const auto types = known_types(g);
  const std::vector<std::string> names = value_names(g);
  const std::unordered_set<std::string> known(names.begin(), names.end());
  std::vector<ValueInfoProto> out;
  std::set<std::string> seen;
  for (const std::string& name : wanted) {
    if (!known.count(name)) return invalid_input(cat(option, ": the model has no value ", quote(name), nearest_hint(name, names)));
    if (!seen.insert(name).second) return invalid_input(cat(option, ": value ", quote(name), " is named twice"));
    const auto type = types.find(name);
    if (type != types.end()) out.push_back(type->second);
    else out.emplace_back().set_name(name);
  }
  return out;
}

void assign(google::protobuf::RepeatedPtrField<ValueInfoProto>* to, const std::vector<ValueInfoProto>& from) {
  to->Clear();
  for (const ValueInfoProto& v : from) *to->Add() = v;
}

// A node that made what is an input now keeps its other outputs; that one goes to a name nobody reads.
void detach(GraphProto& g, const std::unordered_set<std::string>& inputs) {
  for (auto& node : *g.mutable_node())
    for (std::string& out : *node.mutable_output())
      if (inputs.count(out)) out += "/cut";
  auto* initializers = g.mutable_initializer();
  initializers->erase(std::remove_if(initializers->begin(), initializers->end(), [&](const auto& t) { return inputs.count(t.name()) > 0; }),
                      initializers->end());
}

void collect_reads(const onnx::NodeProto& node, std::vector<std::string>& out) {
  out.insert(out.end(), node.input().begin(), node.input().end());
  for (const auto& a : node.attribute()) {
    auto body_reads = [&](const GraphProto& body) {  // more than the free names: harmless, a name is only kept alive
      for (const auto& inner : body.node()) collect_reads(inner, out);
      for (const auto& output : body.output()) out.push_back(output.name());
    };
    if (a.has_g()) body_reads(a.g());
    for (const auto& body : a.graphs()) body_reads(body);
  }
}

void drop_unneeded(GraphProto& g, std::vector<Folded>& folded) {
  std::unordered_set<std::string> needed;
  for (const auto& out : g.output()) needed.insert(out.name());
  std::vector<bool> keep(static_cast<size_t>(g.node_size()));
  std::vector<std::string> reads;
  for (int n = g.node_size() - 1; n >= 0; --n) {
    const auto& outputs = g.node(n).output();
    if (std::none_of(outputs.begin(), outputs.end(), [&](const std::string& o) { return needed.count(o) > 0; })) continue;
    keep[static_cast<size_t>(n)] = true;
    reads.clear();
    collect_reads(g.node(n), reads);
    needed.insert(reads.begin(), reads.end());
  }
  google::protobuf::RepeatedPtrField<onnx::NodeProto> nodes;
  for (int n = 0; n < g.node_size(); ++n) {
    if (keep[static_cast<size_t>(n)]) nodes.Add()->Swap(g.mutable_node(n));
    else folded.push_back({g.node(n).name(), g.node(n).op_type(), "not needed for --outputs"});
  }
  g.mutable_node()->Swap(&nodes);
}

constexpr int64_t kOpen = -1;  // of ImportOptions::shapes

Status set_shape(ValueInfoProto& input, const std::vector<int64_t>& dims) {
  auto wrong = [&](std::string_view what) { return invalid_input(cat("--shape ", quote(input.name()), ": ", what)); };
  if (!input.type().has_tensor_type()) return wrong("this input is no tensor");
  auto& tensor = *input.mutable_type()->mutable_tensor_type();
  if (tensor.has_shape() && tensor.shape().dim_size() != static_cast<int>(dims.size()))
    return wrong(cat(dims.size(), " dims, wanted ", tensor.shape().dim_size(), " as in ", dims_text(tensor.shape())));
  auto& shape = *tensor.mutable_shape();
  while (shape.dim_size() < static_cast<int>(dims.size())) shape.add_dim();
  for (int k = 0; k < shape.dim_size(); ++k) {
    const int64_t size = dims[static_cast<size_t>(k)];
    if (size < kOpen) return wrong(cat("dim ", size, ", wanted 0 or more, or ? for one that stays open"));
    if (size >= 0) shape.mutable_dim(k)->set_dim_value(size);
    else if (shape.dim(k).has_dim_value()) shape.mutable_dim(k)->clear_dim_value();
  }
  return {};
}

// Dims of inputs that have no size, and what they are called by their place: "x.3".
template <class F>
void for_each_open_dim(GraphProto& g, F&& f) {
  for (ValueInfoProto& v : *g.mutable_input()) {
    if (!v.type().has_tensor_type() || !v.type().tensor_type().has_shape()) continue;
    auto& dims = *v.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim();
    for (int k = 0; k < dims.size(); ++k)
      if (!dims[k].has_dim_value() || dims[k].dim_value() < 0) f(dims[k], cat(v.name(), '.', k));
  }
}

void name_open_dims(GraphProto& g) {
  std::unordered_set<std::string> taken;
  for_each_open_dim(g, [&](onnx::TensorShapeProto::Dimension& d, const std::string&) { taken.insert(d.dim_param()); });
  for_each_open_dim(g, [&](onnx::TensorShapeProto::Dimension& d, const std::string& axis) {
    if (!is_anonymous(d.dim_param())) return;
    std::string name = axis;
    while (!taken.insert(name).second) name += '\'';
    d.set_dim_param(name);
  });
}

// An open dim of an input, and the size that options give it, or the sizes that it may have.
struct SaidOf {
  onnx::TensorShapeProto::Dimension* dim;
  const int64_t* size;
  const SizeRange* range;
};

// By the name as the file spells it, else by the place. Everything that options name has to be there.
Result<std::vector<SaidOf>> sizes_said(GraphProto& g, const ImportOptions& options) {
  std::vector<std::string> symbols;
  std::set<std::string> used;
  std::vector<SaidOf> out;
  const auto find = [&used](const auto& map, const std::string& spelled, const std::string& symbol) {
    auto it = map.find(spelled);
    if (it == map.end()) it = map.find(symbol);
    if (it != map.end()) used.insert(it->first);
    return it == map.end() ? nullptr : &it->second;
  };
  for_each_open_dim(g, [&](onnx::TensorShapeProto::Dimension& d, const std::string& axis) {
    const std::string& spelled = d.dim_param();
    const std::string& symbol = is_anonymous(spelled) ? axis : spelled;
    if (std::find(symbols.begin(), symbols.end(), symbol) == symbols.end()) symbols.push_back(symbol);
    out.push_back({&d, find(options.dims, spelled, symbol), find(options.ranges, spelled, symbol)});
  });
  const auto check_used = [&](const std::string& symbol) {
    if (used.count(symbol)) return Status();
    return invalid_input(cat("--dim: no input has a dim ", quote(symbol), symbols.empty() ? ", all dims are fixed" : ", the model has " + join(symbols)));
  };
  for (const auto& [symbol, value] : options.dims) {
    if (value < 0) return invalid_input(cat("--dim ", symbol, ": ", value, ", wanted 0 or more"));
    OPTIMA_RETURN_IF_ERROR(check_used(symbol));
  }
  for (const auto& [symbol, range] : options.ranges) OPTIMA_RETURN_IF_ERROR(check_used(symbol));
  return out;
}

}  // namespace

void drop_initializer_inputs(GraphProto& graph) {
  std::unordered_map<std::string, const google::protobuf::RepeatedField<int64_t>*> constants;
  for (const auto& t : graph.initializer()) constants[t.name()] = &t.dims();
  for (const auto& t : graph.sparse_initializer()) constants[t.values().name()] = &t.dims();
  std::vector<std::string> stale;
  auto* inputs = graph.mutable_input();
  const auto dropped = [&](const ValueInfoProto& v) {
    const auto constant = constants.find(v.name());
    if (constant == constants.end()) return false;
    onnx::TensorShapeProto shape;
    for (int64_t d : *constant->second) shape.add_dim()->set_dim_value(d);
    if (v.type().tensor_type().has_shape() && contradict(v.type().tensor_type().shape(), shape)) stale.push_back(stale_text(v.name(), v.type().tensor_type().shape(), shape));
    return true;
  };
  inputs->erase(std::remove_if(inputs->begin(), inputs->end(), dropped), inputs->end());
  warn_of_stale(stale);
}

Status cut_model(GraphProto& g, const ImportOptions& options, std::vector<Folded>& folded) {
  if (options.inputs.empty() && options.outputs.empty()) return {};
  if (!options.outputs.empty()) {
    OPTIMA_ASSIGN(const auto outputs, pick(g, options.outputs, "--outputs"));
    assign(g.mutable_output(), outputs);
  }
  if (!options.inputs.empty()) {
    OPTIMA_ASSIGN(const auto inputs, pick(g, options.inputs, "--inputs"));
    for (const ValueInfoProto& v : inputs)
      if (!v.has_type()) return invalid_input(cat("--inputs: the type of value ", quote(v.name()), " is not known"));
    detach(g, {options.inputs.begin(), options.inputs.end()});
    std::unordered_set<std::string> before;
    for (const auto& v : g.input()) before.insert(v.name());
    assign(g.mutable_input(), inputs);
    drop_unneeded(g, folded);
    for (const std::string& name : options.inputs) before.erase(name);
    for (const auto& node : g.node()) {
      std::vector<std::string> reads;
      collect_reads(node, reads);
      for (const std::string& name : reads)
        if (before.count(name)) return invalid_input(cat("--inputs: ", node_text(node), " still needs the model's input ", quote(name)));
    }
    return {};
  }
  drop_unneeded(g, folded);
  return {};
}

Result<GivenSizes> set_shapes(GraphProto& g, const ImportOptions& options) {
  std::unordered_map<std::string, ValueInfoProto*> inputs;
  std::vector<std::string> names;
  for (auto& v : *g.mutable_input()) inputs[v.name()] = &v, names.push_back(v.name());
  for (const auto& [name, dims] : options.shapes) {
    if (!inputs.count(name)) return invalid_input(cat("--shape: the model has no input ", quote(name), nearest_hint(name, names)));
    OPTIMA_RETURN_IF_ERROR(set_shape(*inputs[name], dims));
  }
  OPTIMA_ASSIGN(const std::vector<SaidOf> said, sizes_said(g, options));
  for (const SaidOf& one : said)
    if (one.size) one.dim->set_dim_value(*one.size);
  name_open_dims(g);
  GivenSizes out{!options.shapes.empty() || !options.dims.empty(), {}};
  for (const SaidOf& one : said)
    if (one.range) out.ranges.emplace(one.dim->dim_param(), *one.range);
  return out;
}

}  // namespace optima::onnx_io
