// SPDX-License-Identifier: Apache-2.0
// core/onnx_io: mended faults of the version converter.
#include "core/onnx_io/mend.hpp"

#include <cstring>
#include <functional>
#include <unordered_map>
#include <unordered_set>

#include "core/onnx_io/structure.hpp"
#include "core/support/text.hpp"

namespace optima::onnx_io {
namespace {

using onnx::AttributeProto;
using onnx::GraphProto;
using onnx::NodeProto;

AttributeProto* find(NodeProto& node, std::string_view name) {
  for (auto& a : *node.mutable_attribute())
    if (a.name() == name) return &a;
  return nullptr;
}
int64_t int_or(NodeProto& node, std::string_view name, int64_t fallback) {
  const AttributeProto* a = find(node, name);
  return a ? a->i() : fallback;
}
std::string string_or(NodeProto& node, std::string_view name, std::string fallback) {
  const AttributeProto* a = find(node, name);
  return a ? a->s() : std::move(fallback);
}
void set(NodeProto& node, const std::string& name, int64_t value) {
  AttributeProto* a = find(node, name);
  if (!a) a = node.add_attribute();
  a->set_name(name), a->set_type(AttributeProto::INT), a->set_i(value);
}
void set(NodeProto& node, const std::string& name, const std::string& value) {
  AttributeProto* a = find(node, name);
  if (!a) a = node.add_attribute();
  a->set_name(name), a->set_type(AttributeProto::STRING), a->set_s(value);
}
void remove(NodeProto& node, std::string_view name) {
  auto* list = node.mutable_attribute();
  for (int k = list->size() - 1; k >= 0; --k)
    if (list->Get(k).name() == name) list->DeleteSubrange(k, 1);
}

// Nodes of one graph, rewritten in order: emit() puts one behind those already there.
class Rewrite {
 public:
  explicit Rewrite(GraphProto& g) : g_(g) {
    for (const auto* list : {&g.value_info(), &g.input(), &g.output()})
      for (const auto& v : *list)
        learn(v);
    old_.Swap(g.mutable_node());
  }

  // step(node) may change the node, emit others, and returns whether the node itself still stands.
  Status run(const std::function<Result<bool>(NodeProto&)>& step) {
    for (auto& node : old_) {
      OPTIMA_ASSIGN(const bool stands, step(node));
      if (stands) g_.add_node()->Swap(&node);
    }
    return {};
  }
  NodeProto& emit(const std::string& op, const std::vector<std::string>& inputs, const std::string& output) {
    NodeProto& node = *g_.add_node();
    node.set_op_type(op);
    for (const auto& in : inputs) node.add_input(in);
    node.add_output(output);
    return node;
  }
  // A scalar in the element type of `like` (f32 when that is not known).
  std::string float_scalar(float value, const std::string& like, const std::string& name) {
    const auto type = types_.find(like);
    const bool cast = type != types_.end() && type->second != onnx::TensorProto::FLOAT;
    AttributeProto& a = *emit("Constant", {}, cast ? name + "/f32" : name).add_attribute();
    a.set_name("value"), a.set_type(AttributeProto::TENSOR);
    a.mutable_t()->set_data_type(onnx::TensorProto::FLOAT);
    a.mutable_t()->add_float_data(value);
    if (cast) set(emit("Cast", {name + "/f32"}, name), "to", int64_t{type->second});
    return name;
  }
  int type(const std::string& value) const {
    const auto it = types_.find(value);
    return it == types_.end() ? onnx::TensorProto::FLOAT : it->second;
  }
  int rank(const std::string& value) const {
    const auto it = ranks_.find(value);
    return it == ranks_.end() ? -1 : it->second;
  }

 private:
  void learn(const onnx::ValueInfoProto& v) {
    const auto& tensor = v.type().tensor_type();
    if (tensor.elem_type() != 0) types_[v.name()] = tensor.elem_type();
    if (tensor.has_shape()) ranks_[v.name()] = tensor.shape().dim_size();
  }

  GraphProto& g_;
  google::protobuf::RepeatedPtrField<NodeProto> old_;
  std::unordered_map<std::string, int> ranks_, types_;
};

// Hardmax before 13 works on its input flattened to two dimensions at `axis`.
bool flatten_hardmax(Rewrite& rewrite, NodeProto& node) {
  const int64_t axis = int_or(node, "axis", 1), rank = rewrite.rank(node.input(0));
  if (rank > 0 && (axis == rank - 1 || axis == -1)) {
    set(node, "axis", int64_t{-1});
    return true;
  }
  const std::string y = node.output(0), x = node.input(0);
  set(rewrite.emit("Flatten", {x}, y + "/flat"), "axis", axis);
  NodeProto& hardmax = rewrite.emit("Hardmax", {y + "/flat"}, y + "/hard");
  hardmax.set_name(node.name());
  set(hardmax, "axis", int64_t{1});
  rewrite.emit("Shape", {x}, y + "/shape");
  rewrite.emit("Reshape", {y + "/hard", y + "/shape"}, y);
  return false;
}

// spatial=0: scale, bias, mean and variance have the shape of one sample, so broadcasting does it.
Result<bool> spread_batch_norm(Rewrite& rewrite, NodeProto& node) {
  if (rewrite.rank(node.input(0)) == 2) {
    remove(node, "spatial");
    return true;
  }
  if (node.output_size() != 1) return invalid_input(cat(node_text(node), ": spatial=0 with ", node.output_size(), " outputs, wanted 1"));
  const AttributeProto* given = find(node, "epsilon");
  const std::string y = node.output(0), x = node.input(0), scale = node.input(1), bias = node.input(2);
  const std::string epsilon = rewrite.float_scalar(given ? given->f() : 1e-5f, x, y + "/epsilon");
  rewrite.emit("Sub", {x, node.input(3)}, y + "/centred");
  rewrite.emit("Add", {node.input(4), epsilon}, y + "/variance");
  rewrite.emit("Sqrt", {y + "/variance"}, y + "/deviation");
  rewrite.emit("Div", {y + "/centred", y + "/deviation"}, y + "/normal");
  rewrite.emit("Mul", {y + "/normal", scale}, y + "/scaled");
  rewrite.emit("Add", {y + "/scaled", bias}, y).set_name(node.name());
  return false;
}

// The mask of Dropout before opset 12 is zeros where nothing is dropped, and before 10 it has the type of the data; later it is true.
void zero_mask(Rewrite& rewrite, NodeProto& node, int64_t opset) {
  const std::string x = node.input(0), mask = node.output(1);
  node.mutable_output()->RemoveLast();
  rewrite.emit("Less", {x, x}, opset < 10 ? mask + "/less" : mask);
  if (opset < 10) set(rewrite.emit("Cast", {mask + "/less"}, mask), "to", int64_t{rewrite.type(x)});
}

Status retune_resize(NodeProto& node) {
  if (string_or(node, "coordinate_transformation_mode", "half_pixel") != "tf_half_pixel_for_nn") return {};
  const std::string mode = string_or(node, "mode", "nearest"), rounding = string_or(node, "nearest_mode", "round_prefer_floor");
  // It looks up (x + 0.5) / scale, half_pixel half an element less: floor(v) = floor((v - 0.5) + 0.5), and so on.
  const bool floors = rounding == "floor", prefers_floor = rounding == "round_prefer_floor";
  if (mode != "nearest" || (!floors && !prefers_floor))
    return invalid_input(cat(node_text(node), ": tf_half_pixel_for_nn with mode ", mode, " and nearest_mode ", rounding,
                             " has no form in opset 13 and later, wanted mode nearest and nearest_mode floor or round_prefer_floor"));
  set(node, "coordinate_transformation_mode", std::string("half_pixel"));
  set(node, "nearest_mode", std::string(floors ? "round_prefer_ceil" : "ceil"));
  return {};
}

// Nodes that inference takes for something else, in a graph and its bodies.
class Misread {
 public:
  explicit Misread(GraphProto& graph, std::unordered_set<std::string> ones = {}) : graph_(graph), ones_(std::move(ones)) {}

  void run() {
    for (const onnx::TensorProto& t : graph_.initializer()) learn(t.name(), t);
    for (NodeProto& node : *graph_.mutable_node()) {
      for_each_body(node, [&](GraphProto& body, const std::string&, int) { Misread(body, ones_).run(); });
      if (!node.domain().empty()) continue;
      if (node.op_type() == "Constant" && node.output_size() == 1)
        if (const AttributeProto* value = find(node, "value")) learn(node.output(0), value->t());
      if (node.op_type() == "MeanVarianceNormalization" && !find(node, "axes")) state_axes(node);
      // ONNX keeps the axis wherever sizes are given; exporters, and ONNX Runtime, drop it where the only size is 1.
      if (node.op_type() == "SplitToSequence" && node.input_size() == 2 && int_or(node, "keepdims", 1) == 0 && ones_.count(node.input(1))) node.mutable_input()->RemoveLast();
    }
  }

 private:
  void learn(const std::string& name, const onnx::TensorProto& t) {
    const bool wide = t.data_type() == onnx::TensorProto::INT64;
    if (t.dims_size() != 0 || (!wide && t.data_type() != onnx::TensorProto::INT32)) return;
    int64_t number = 0;
    if (wide && t.int64_data_size() == 1) number = t.int64_data(0);
    else if (!wide && t.int32_data_size() == 1) number = t.int32_data(0);
    else if (const std::string& raw = t.raw_data(); raw.size() == (wide ? 8u : 4u)) std::memcpy(&number, raw.data(), raw.size());  // low byte first, as here
    if (number == 1) ones_.insert(name);
  }
  static void state_axes(NodeProto& node) {
    AttributeProto& axes = *node.add_attribute();
    axes.set_name("axes"), axes.set_type(AttributeProto::INTS);
    for (int64_t axis : {0, 2, 3}) axes.add_ints(axis);
  }

  GraphProto& graph_;
  std::unordered_set<std::string> ones_;  // constants, scalars of 1
};

}  // namespace

Status mend_before(GraphProto& graph, int64_t opset, Mending& mending) {
  if (opset > 12) return {};
  Rewrite rewrite(graph);
  return rewrite.run([&](NodeProto& node) -> Result<bool> {
    Status status;
    for_each_body(node, [&](GraphProto& body, const std::string&, int) {
      if (status.ok()) status = mend_before(body, opset, mending);
    });
    OPTIMA_RETURN_IF_ERROR(status);
    if (!node.domain().empty() || node.input_size() == 0 || node.output_size() == 0) return true;
    const std::string& op = node.op_type();
    // The converter drops the batch axis that Scan had in opset 8 and nowhere else.
    if (op == "Scan" && opset == 8) return invalid_input(cat(node_text(node), ": Scan of opset 8 has no form in later opsets, wanted 9 or newer"));
    if (op == "Hardmax") return flatten_hardmax(rewrite, node);
    if (op == "Dropout" && opset < 12 && node.output_size() == 2 && !node.output(1).empty()) zero_mask(rewrite, node, opset);
    if (op == "BatchNormalization" && opset <= 8 && node.input_size() == 5 && int_or(node, "spatial", 1) == 0) return spread_batch_norm(rewrite, node);
    if ((op == "Resize" || op == "Upsample") && opset <= 10) mending.asymmetric.insert(node.output(0));
    if (op == "Resize" && opset >= 11) OPTIMA_RETURN_IF_ERROR(retune_resize(node));
    return true;
  });
}

void mend_after(GraphProto& graph, const Mending& mending) {
  for (auto& node : *graph.mutable_node()) {
    for_each_body(node, [&](GraphProto& body, const std::string&, int) { mend_after(body, mending); });
    if (node.op_type() != "Resize" || node.output_size() == 0 || !mending.asymmetric.count(node.output(0))) continue;
    set(node, "coordinate_transformation_mode", std::string("asymmetric"));
    set(node, "nearest_mode", std::string("floor"));
  }
}

void mend_inference(GraphProto& graph) { Misread(graph).run(); }

}  // namespace optima::onnx_io
