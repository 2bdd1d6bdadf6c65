// SPDX-License-Identifier: Apache-2.0
#include "core/quantize/operators.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

namespace optima::detail {
namespace {

struct Row {
  std::string_view op;
  Kind kind;
};
constexpr std::array kRows = {
    Row{"Conv", Kind::Product},           Row{"ConvTranspose", Kind::Product},  Row{"Gemm", Kind::Product},          Row{"MatMul", Kind::Product},
    Row{"Add", Kind::Elementwise},        Row{"Mul", Kind::Elementwise},        Row{"Concat", Kind::Concat},         Row{"AveragePool", Kind::Average},
    Row{"GlobalAveragePool", Kind::Average}, Row{"ReduceMean", Kind::Average},  Row{"MaxPool", Kind::Mover},         Row{"GlobalMaxPool", Kind::Mover},
    Row{"Resize", Kind::Mover},           Row{"Reshape", Kind::Mover},          Row{"Transpose", Kind::Mover},       Row{"Squeeze", Kind::Mover},
    Row{"Unsqueeze", Kind::Mover},        Row{"Flatten", Kind::Mover},          Row{"Slice", Kind::Mover},           Row{"Split", Kind::Mover},
    Row{"Gather", Kind::Mover},           Row{"Pad", Kind::Mover},              Row{"DepthToSpace", Kind::Mover},    Row{"SpaceToDepth", Kind::Mover},
    Row{"Identity", Kind::Mover},         Row{"Tile", Kind::Mover},             Row{"Expand", Kind::Mover},          Row{"Relu", Kind::Activation},
    Row{"LeakyRelu", Kind::Activation},   Row{"Clip", Kind::Activation},        Row{"PRelu", Kind::Activation},      Row{"Sigmoid", Kind::Activation},
    Row{"Tanh", Kind::Activation},        Row{"HardSigmoid", Kind::Activation}, Row{"HardSwish", Kind::Activation},  Row{"Elu", Kind::Activation},
    Row{"Selu", Kind::Activation},        Row{"Celu", Kind::Activation},        Row{"Softplus", Kind::Activation},   Row{"Softsign", Kind::Activation},
    Row{"Mish", Kind::Activation},        Row{"ThresholdedRelu", Kind::Activation},
    Row{"Div", Kind::Activation},
};

std::string text_attr(const image::Node& node, const char* name, const char* otherwise) {
  const image::Attr* a = find_attr(node, name);
  return a ? a->s : otherwise;
}

// A picture's mean: all axes behind the first two, which must be known.
bool over_picture(const Graph& graph, const image::Node& node) {
  const image::Value& x = graph.main().values[node.inputs[0]];
  const uint32_t axes = constant_input(graph, node, 1);
  if (!x.dims || x.dims->size() != 4 || axes == OPTIMA_NONE || graph.main().values[axes].dtype != OPTIMA_I64) return false;
  const image::Constant& c = graph.contents.constants[graph.main().values[axes].constant];
  std::vector<int64_t> found(graph.blobs[c.blob].size / sizeof(int64_t));
  std::memcpy(found.data(), graph.blobs[c.blob].data, found.size() * sizeof(int64_t));
  for (int64_t& axis : found) axis += axis < 0 ? 4 : 0;
  std::sort(found.begin(), found.end());
  return found == std::vector<int64_t>{2, 3};
}

// As exporters write the end of a HardSwish.
bool divides_by_number(const Graph& graph, const image::Node& node) {
  const uint32_t by = constant_input(graph, node, 1);
  return by != OPTIMA_NONE && floats_of(graph, by).size() == 1;
}

// What is put around must be a code, too: zero is, other numbers need not be.
bool pads_zero(const Graph& graph, const image::Node& node) {
  if (text_attr(node, "mode", "constant") != "constant") return true;
  if (node.inputs.size() < 3 || node.inputs[2] == OPTIMA_NONE) return true;
  const uint32_t value = constant_input(graph, node, 2);
  if (value == OPTIMA_NONE) return false;
  const std::vector<float> with = floats_of(graph, value);
  return with.size() == 1 && with[0] == 0;
}

bool keeps_range(const Graph& graph, const image::Node& node) {
  if (node.op_type == "Pad") return pads_zero(graph, node);
  if (node.op_type == "MaxPool") return node.outputs.size() == 1 || node.outputs[1] == OPTIMA_NONE;
  if (node.op_type == "Resize") return text_attr(node, "mode", "nearest") != "cubic" && text_attr(node, "coordinate_transformation_mode", "") != "tf_crop_and_resize";
  return true;
}

}  // namespace

Kind kind_of(const Graph& graph, const image::Node& node) {
  if (!node.domain.empty() || node.inputs.empty() || node.inputs[0] == OPTIMA_NONE) return Kind::None;
  if (node.outputs.empty() || node.outputs[0] == OPTIMA_NONE) return Kind::None;
  const auto row = std::find_if(kRows.begin(), kRows.end(), [&](const Row& r) { return r.op == node.op_type; });
  if (row == kRows.end()) return Kind::None;
  if (row->kind == Kind::Mover && !keeps_range(graph, node)) return Kind::None;
  if (node.op_type == "Div" && !divides_by_number(graph, node)) return Kind::None;
  if (node.op_type == "ReduceMean" && !over_picture(graph, node)) return Kind::None;
  return row->kind;
}

std::vector<size_t> data_inputs(const Graph& graph, const image::Node& node) {
  const Kind kind = kind_of(graph, node);
  const bool all = kind == Kind::Concat || kind == Kind::None;
  const size_t count = kind == Kind::Product || kind == Kind::Elementwise ? 2 : all ? node.inputs.size() : 1;
  std::vector<size_t> out;
  for (size_t i = 0; i < std::min(count, node.inputs.size()); ++i)
    if (node.inputs[i] != OPTIMA_NONE && (kind != Kind::None || graph.main().values[node.inputs[i]].dtype == OPTIMA_F32)) out.push_back(i);
  return out;
}

bool is_transformer(const Graph& graph, const Uses& uses) {
  constexpr std::array<std::string_view, 7> kSigns = {"LayerNormalization", "SkipLayerNormalization", "RMSNormalization", "SimplifiedLayerNormalization",
                                                      "Attention", "MultiHeadAttention", "EmbedLayerNormalization"};
  const image::Graph& g = graph.main();
  const auto weighs_values = [&](const image::Node& softmax) {
    const std::vector<uint32_t>& readers = uses.consumers[softmax.outputs[0]];
    return std::any_of(readers.begin(), readers.end(), [&](uint32_t r) { return g.nodes[r].op_type == "MatMul" && constant_input(graph, g.nodes[r], 1) == OPTIMA_NONE; });
  };
  return std::any_of(g.nodes.begin(), g.nodes.end(), [&](const image::Node& n) {
    if (std::find(kSigns.begin(), kSigns.end(), n.op_type) != kSigns.end()) return true;
    return n.op_type == "Softmax" && n.domain.empty() && n.outputs[0] != OPTIMA_NONE && weighs_values(n);
  });
}

double float_attr(const image::Node& node, const char* name, double otherwise) {
  const image::Attr* a = find_attr(node, name);
  return a ? a->f : otherwise;
}

uint32_t constant_input(const Graph& graph, const image::Node& node, size_t position) {
  if (position >= node.inputs.size() || node.inputs[position] == OPTIMA_NONE) return OPTIMA_NONE;
  const uint32_t value = node.inputs[position];
  return graph.main().values[value].constant == OPTIMA_NONE ? OPTIMA_NONE : value;
}

std::vector<float> floats_of(const Graph& graph, uint32_t value) {
  const image::Constant& c = graph.contents.constants[graph.main().values[value].constant];
  const Blob& bytes = graph.blobs[c.blob];
  if (c.dtype != OPTIMA_F32) return {};
  std::vector<float> out(bytes.size / sizeof(float));
  if (!out.empty()) std::memcpy(out.data(), bytes.data, out.size() * sizeof(float));
  return out;
}

const std::vector<int64_t>& dims_of(const Graph& graph, uint32_t value) {
  return graph.contents.constants[graph.main().values[value].constant].dims;
}

}  // namespace optima::detail
