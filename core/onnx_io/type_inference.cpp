// SPDX-License-Identifier: Apache-2.0
// core/onnx_io: one node's inference, over the library's schemas.
#include "core/onnx_io/type_inference.hpp"

#include <algorithm>
#include <set>
#include <unordered_set>

#include "core/flow/node.hpp"
#include "core/onnx_io/branch_errors.hpp"
#include "core/onnx_io/foreign_types.hpp"
#include "core/onnx_io/loop_shapes.hpp"
#include "core/onnx_io/mend_schemas.hpp"
#include "core/onnx_io/onnx_guard.hpp"
#include "core/onnx_io/to_onnx.hpp"
#include "core/onnx_io/types.hpp"
#include "core/support/text.hpp"
#include "onnx/defs/schema.h"
#include "onnx/shape_inference/implementation.h"

namespace optima::onnx_io {
namespace {

namespace si = onnx::shape_inference;
constexpr int64_t kLongestShape = 1024;        // elements
constexpr uint64_t kReadBySchemas = 1024;  // bytes; no operator takes a shape from a larger tensor

}  // namespace

class TypeInference::State {
 public:
  State(Graph& graph, InferForeign foreign, uint32_t index)
      : graph_(graph), index_(index), foreign_(index == 0 ? std::move(foreign) : InferForeign()), names_(graph, index, nullptr),
        writer_(graph, [this](const image::Constant& c, onnx::TensorProto& t) { return fill(c, t); }, Defaults::Written) {
    mend_schemas();
    for (const auto& [domain, version] : graph.contents.opsets) opsets_[domain] = static_cast<int>(version);
    if (foreign_) uses_ = uses_of(graph);
    know_symbols();
    const auto& values = here().values;
    types_.resize(values.size());
    tensors_.resize(values.size());
    for (uint32_t v = 0; v < values.size(); ++v) {
      publish(v);
      if (values[v].constant != OPTIMA_NONE) publish_constant(v);
    }
  }

  Status infer(const image::Node& node) {
    const auto* schema = onnx::OpSchemaRegistry::Schema(node.op_type, node.since_version, node.domain);
    if (!schema) return foreign_ ? ask(node) : Status();
    if (!only_tensors(node, here())) return {};
    if (!foreign_) return infer_known(node, *schema);
    // What the library finds in bodies tells more to those who are asked there, and the other way round. It is an error of the node
    // only when nobody has more to tell: half known, the branches of an If differ.
    Status status;
    for (bool more = true; more;) {
      OPTIMA_ASSIGN(more, infer_in_bodies(graph_, node, foreign_));
      status = infer_known(node, *schema);
    }
    return status;
  }

  Status infer_known(const image::Node& node, const onnx::OpSchema& schema) {
    onnx::NodeProto proto;
    OPTIMA_RETURN_IF_ERROR(writer_.node(node, names_, proto));
    const Status status = guarded(cat("node ", quote(node.name), " (", node.op_type, ")"), [&]() -> Status {
      if (flow_op(node) == FlowOp::Loop) OPTIMA_RETURN_IF_ERROR(keep_loop_shapes(node, schema, proto));
      return infer(node, proto, schema);
    });
    return inputs_typed(node) ? status : Status();  // behind an operator that nobody knows, rules fail for want of a type
  }

  std::optional<std::vector<int64_t>> elements(uint32_t value) const {
    const auto it = shapes_.find(names_.names[value]);
    if (it == shapes_.end()) return std::nullopt;
    std::vector<int64_t> out;
    for (const auto& d : it->second.dim()) {
      if (!d.has_dim_value()) return std::nullopt;
      out.push_back(d.dim_value());
    }
    return out;
  }

  void publish_constant(uint32_t v) {
    const uint32_t index = here().values[v].constant;
    const image::Constant& c = graph_.contents.constants[index];
    if (graph_.blobs[c.blob].size > kReadBySchemas) return;
    if (writer_.tensor(index, tensors_[v]).ok()) data_by_name_[names_.names[v]] = &tensors_[v];
    publish(v);
  }

 private:
  image::Graph& here() { return graph_.contents.graphs[index_]; }
  const image::Graph& here() const { return graph_.contents.graphs[index_]; }

  Status fill(const image::Constant& c, onnx::TensorProto& t) const {
    if (graph_.blobs[c.blob].size > kReadBySchemas) t.set_data_location(onnx::TensorProto::EXTERNAL);
    else fill_inline(c, graph_.blobs[c.blob], t);
    return {};
  }

  // A new symbol of the library must not mean a dim that has that name already.
  void know_symbols() {
    onnx::GraphProto known;
    std::set<std::string_view> seen;
    for (const image::Graph& g : graph_.contents.graphs)
      for (const image::Value& v : g.values)
        for (size_t d = 0; v.dims && d < v.dims->size(); ++d)
          if (const std::string& symbol = (*v.dims)[d].symbol; !symbol.empty() && seen.insert(symbol).second)
            known.add_input()->mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_param(symbol);
    symbols_.addFromGraph(known);
  }

  void publish(uint32_t v) {
    types_[v] = to_type(here().values[v]);
    if (types_[v].value_case() != onnx::TypeProto::VALUE_NOT_SET) types_by_name_[names_.names[v]] = &types_[v];
  }

  // Types of the outputs; what is found of values in bodies is written into `proto`. May throw.
  std::vector<onnx::TypeProto> output_types(onnx::NodeProto& proto, const onnx::OpSchema& schema) {
    si::GraphInferenceContext around(types_by_name_, opsets_, &symbols_, {}, onnx::OpSchemaRegistry::Instance(), &shapes_);
    const onnx::ShapeInferenceOptions options(false, 1, false);
    si::InferenceContextImpl context(proto, types_by_name_, data_by_name_, {}, options, &shapes_, &around);
    if (schema.has_type_and_shape_inference_function()) schema.GetTypeAndShapeInferenceFunction()(context);
    else if (schema.HasFunction()) si::InferShapeForFunctionNode(*schema.GetFunction(), onnx::OpSchemaRegistry::Instance(), context, options, {}, &symbols_, &shapes_);
    return std::move(context.allOutputTypes_);
  }

  // What no trip changes is known of the body's inputs, and of the node's outputs; `proto` is the node with that in it.
  Status keep_loop_shapes(const image::Node& node, const onnx::OpSchema& schema, onnx::NodeProto& proto) {
    std::vector<onnx::TypeProto> initial;
    for (uint32_t v : node.inputs) initial.push_back(v == OPTIMA_NONE ? onnx::TypeProto() : types_[v]);
    std::vector<std::optional<std::vector<image::Dim>>> kept;
    try {
      kept = kept_shapes(proto, initial, [&](onnx::NodeProto& trip) { output_types(trip, schema); });
    } catch (const std::exception&) {
      return {};  // the assumption does not fit the body; without it, what is wrong with the model comes out next
    }
    for_each_body(node, [&](uint32_t index) {
      image::Graph& body = graph_.contents.graphs[index];
      for (size_t k = 0; k < kept.size(); ++k) {
        correct_dims(body.values[body.inputs[kLoopInputsAhead + k]], kept[k]);
        if (k >= node.outputs.size() || node.outputs[k] == OPTIMA_NONE) continue;
        if (correct_dims(here().values[node.outputs[k]], kept[k])) corrected_.insert(node.outputs[k]);
      }
    });
    proto.Clear();
    return writer_.node(node, names_, proto);
  }
  static bool correct_dims(image::Value& value, const std::optional<std::vector<image::Dim>>& dims) {
    image::Value found = value;
    found.dims = dims;
    const Result<bool> other = correct(value, found);
    return other.ok() && *other;
  }

  // An If whose condition is known is inferred as if both branches were the one that it takes; gives the name of the other.
  std::string drop_other_branch(const image::Node& node, onnx::NodeProto& proto) const {
    if (flow_op(node) != FlowOp::If || node.inputs.size() != 1) return "";
    const std::optional<bool> condition = known_condition(graph_, here().values[node.inputs[kBranchCondition]]);
    if (!condition) return "";
    onnx::AttributeProto *then = nullptr, *other = nullptr;
    for (onnx::AttributeProto& a : *proto.mutable_attribute()) (a.name() == "then_branch" ? then : other) = &a;
    if (!then || !other) return "";
    if (!*condition) std::swap(then, other);
    *other->mutable_g() = then->g();
    return other->name();
  }

  Status infer(const image::Node& node, onnx::NodeProto& proto, const onnx::OpSchema& schema) {
    const std::string dropped = drop_other_branch(node, proto);
    std::vector<onnx::TypeProto> types;
    try {
      types = output_types(proto, schema);
    } catch (const std::exception& e) {
      (void)take_bodies(node, proto, names_, dropped).ok();  // what it found before it stopped is true, and may be what others wait for
      if (only_in_branches(e.what(), graph_, node)) return {};
      throw;
    }
    for (size_t k = 0; k < node.outputs.size(); ++k) {
      if (node.outputs[k] == OPTIMA_NONE) continue;
      image::Value found;
      set_type(found, types[k]);
      // Import has checked the model as it was written; where another version of the operator infers otherwise (pooling with
      // ceil_mode before and since 22), what import found stands, unless that came of a shape that did not hold.
      if (behind_corrected(node)) replace(node.outputs[k], found);
      else (void)take(node.outputs[k], found).ok();
    }
    OPTIMA_RETURN_IF_ERROR(take_bodies(node, proto, names_, dropped));
    propagate(node, proto, schema);
    return {};
  }

  // 1.23.2 follows elements through operators that give more than one dim, where they mean nothing; those are forgotten.
  void propagate(const image::Node& node, onnx::NodeProto& proto, const onnx::OpSchema& schema) {
    if (!schema.has_data_propagation_function() || !may_be_shapes(node)) return;
    try {
      si::DataPropagationContextImpl propagation(proto, types_by_name_, data_by_name_, shapes_);
      schema.GetDataPropagationFunction()(propagation);
    } catch (const std::exception&) {
      // No elements are known then, which is no error.
    }
    for (uint32_t v : node.outputs)
      if (v != OPTIMA_NONE && !is_list(here().values[v])) shapes_.erase(names_.names[v]);
  }
  // The library makes one object per element of every list an operator reads, whatever is in it.
  bool may_be_shapes(const image::Node& node) const {
    if (node.op_type == "Shape" || node.op_type == "Size") return true;  // these look at the type alone
    return std::all_of(node.inputs.begin(), node.inputs.end(), [&](uint32_t v) {
      if (v == OPTIMA_NONE) return true;
      const image::Value& value = here().values[v];
      const bool integers = value.dtype == OPTIMA_I64 || value.dtype == OPTIMA_I32;
      return !value.dims || value.dims->size() != 1 || (integers && value.dims->front().value <= kLongestShape);
    });
  }
  static bool is_list(const image::Value& v) { return v.dims && v.dims->size() <= 1; }

  bool inputs_typed(const image::Node& node) const {
    const auto& values = here().values;
    return std::all_of(node.inputs.begin(), node.inputs.end(), [&](uint32_t v) { return v == OPTIMA_NONE || values[v].dtype != OPTIMA_UNDEFINED; });
  }

  // Nested types lose their inner levels in a Value; what import found about them stays as it is.
  bool only_tensors(const image::Node& node, const image::Graph& g) const {
    auto tensor = [&](uint32_t v) { return v == OPTIMA_NONE || g.values[v].kind == OPTIMA_KIND_TENSOR || g.values[v].kind == OPTIMA_KIND_UNKNOWN; };
    bool all = std::all_of(node.inputs.begin(), node.inputs.end(), tensor) && std::all_of(node.outputs.begin(), node.outputs.end(), tensor);
    for_each_body(node, [&](uint32_t body) {
      const image::Graph& inner = graph_.contents.graphs[body];
      for (const image::Node& n : inner.nodes) all = all && only_tensors(n, inner);
    });
    return all;
  }

  Status take(uint32_t v, const image::Value& found) {
    OPTIMA_RETURN_IF_ERROR(refine(here().values[v], found));
    publish(v);
    return {};
  }

  bool behind_corrected(const image::Node& node) const {
    return std::any_of(node.inputs.begin(), node.inputs.end(), [&](uint32_t v) { return v != OPTIMA_NONE && corrected_.count(v) > 0; });
  }
  void replace(uint32_t v, const image::Value& found) {
    image::Value& value = here().values[v];
    if (found.kind != value.kind || found.dtype != value.dtype) return;
    value.dims = found.dims;
    corrected_.insert(v);
    publish(v);
  }

  // The library wrote what it found about values of bodies into the bodies of `proto`, of which one may not be the node's.
  Status take_bodies(const image::Node& node, const onnx::NodeProto& proto, const OnnxNames& outside, std::string_view dropped = "") {
    for (const image::Attr& a : node.attrs) {
      if (!holds_body(a) || a.name == dropped) continue;
      for (const auto& written : proto.attribute()) {
        if (written.name() != a.name) continue;
        for (size_t k = 0; k < a.refs.size(); ++k)
          OPTIMA_RETURN_IF_ERROR(take_body(a.refs[k], a.type == OPTIMA_ATTR_GRAPH ? written.g() : written.graphs(static_cast<int>(k)), outside));
      }
    }
    return {};
  }
  Status take_body(uint32_t index, const onnx::GraphProto& written, const OnnxNames& outside) {
    const OnnxNames names(graph_, index, &outside);
    image::Graph& g = graph_.contents.graphs[index];
    for (const auto* list : {&written.input(), &written.output(), &written.value_info()})
      for (const auto& info : *list) {
        const auto v = names.by_name.find(info.name());
        if (v == names.by_name.end()) continue;
        image::Value found;
        set_type(found, info.type());
        (void)refine(g.values[v->second], found).ok();
      }
    for (size_t n = 0; n < g.nodes.size() && static_cast<int>(n) < written.node_size(); ++n)
      OPTIMA_RETURN_IF_ERROR(take_bodies(g.nodes[n], written.node(static_cast<int>(n)), names));
    return {};
  }

  Status ask(const image::Node& node) {
    const auto made = std::find_if(node.outputs.begin(), node.outputs.end(), [](uint32_t v) { return v != OPTIMA_NONE; });
    if (made == node.outputs.end()) return {};
    OPTIMA_ASSIGN(const std::vector<uint32_t> corrected, infer_foreign(graph_, uses_.producer[*made], uses_, foreign_));
    corrected_.insert(corrected.begin(), corrected.end());
    for (const uint32_t v : node.outputs)
      if (v != OPTIMA_NONE) publish(v);
    return {};
  }

  Graph& graph_;
  const uint32_t index_;
  InferForeign foreign_;
  Uses uses_;
  OnnxNames names_;
  OnnxWriter writer_;
  std::unordered_set<uint32_t> corrected_;  // values of which something else was declared
  si::SymbolTableImpl symbols_;
  std::unordered_map<std::string, int> opsets_;
  std::vector<onnx::TypeProto> types_;      // by value; the maps below point into these
  std::vector<onnx::TensorProto> tensors_;
  std::unordered_map<std::string, onnx::TypeProto*> types_by_name_;
  std::unordered_map<std::string, const onnx::TensorProto*> data_by_name_;
  si::DataValueMap shapes_;
};

TypeInference::TypeInference(Graph& graph, InferForeign foreign, uint32_t index) : state_(std::make_unique<State>(graph, std::move(foreign), index)) {}
TypeInference::~TypeInference() = default;
Status TypeInference::infer(const image::Node& node) { return state_->infer(node); }
std::optional<std::vector<int64_t>> TypeInference::elements(uint32_t value) const { return state_->elements(value); }
void TypeInference::became_constant(uint32_t value) { state_->publish_constant(value); }

std::optional<bool> known_condition(const Graph& graph, const image::Value& condition) {
  if (condition.constant == OPTIMA_NONE) return std::nullopt;
  const image::Constant& c = graph.contents.constants[condition.constant];
  const Blob& bytes = graph.blobs[c.blob];
  const std::optional<int64_t> value = c.dtype == OPTIMA_BOOL ? flow_scalar(c.dtype, {bytes.data, bytes.size}) : std::nullopt;
  return value ? std::optional(*value != 0) : std::nullopt;
}

bool is_known(const image::Node& node) { return onnx::OpSchemaRegistry::Schema(node.op_type, node.since_version, node.domain) != nullptr; }

bool is_deterministic(const image::Node& node) {
  const auto* schema = onnx::OpSchemaRegistry::Schema(node.op_type, node.since_version, node.domain);
  return schema && schema->GetNodeDeterminism() != onnx::OpSchema::NodeDeterminism::NonDeterministic;
}

}  // namespace optima::onnx_io
