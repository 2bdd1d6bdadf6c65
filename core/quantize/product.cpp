// SPDX-License-Identifier: Apache-2.0
#include "core/quantize/product.hpp"

namespace optima::detail {
namespace {

// Rank of the left value, or -1.
int rank_of(const Graph& graph, uint32_t value) {
  const auto& dims = graph.main().values[value].dims;
  return dims ? static_cast<int>(dims->size()) : -1;
}

bool convolution(const Graph& graph, const image::Node& node, Product& p) {
  if (p.dims.size() < 3) return false;
  const bool transposed = node.op_type == "ConvTranspose";
  p.groups = int_attr(node, "group", 1);
  p.axis = transposed ? 1 : 0;
  p.inner_axis = 1 - p.axis;
  if (p.groups < 1 || p.dims[0] % p.groups != 0) return false;
  p.outputs = transposed ? p.dims[1] * p.groups : p.dims[0];
  p.inputs = transposed ? p.dims[0] : p.dims[1] * p.groups;
  p.input_axis = rank_of(graph, p.input) == static_cast<int>(p.dims.size()) ? 1 : -1;
  p.windowed = p.groups > 1 || elements_behind(p.dims, 1) > 1;
  const image::Attr* strides = find_attr(node, "strides");
  if (transposed && strides)
    for (int64_t s : strides->ints) p.taps *= static_cast<double>(s);
  return true;
}

bool gemm(const Graph& graph, const image::Node& node, Product& p) {
  if (p.dims.size() != 2) return false;
  p.axis = int_attr(node, "transB", 0) != 0 ? 0 : 1;
  p.inner_axis = 1 - p.axis;
  p.outputs = p.dims[static_cast<size_t>(p.axis)];
  p.inputs = p.dims[static_cast<size_t>(p.inner_axis)];
  p.input_axis = rank_of(graph, p.input) != 2 ? -1 : int_attr(node, "transA", 0) != 0 ? 0 : 1;
  p.bias_factor = float_attr(node, "alpha", 1);
  return p.bias_factor > 0;
}

bool matmul(const Graph& graph, Product& p) {
  const int rank = static_cast<int>(p.dims.size());
  if (rank < 1) return false;
  p.axis = rank > 1 ? rank - 1 : -1;
  p.inner_axis = rank > 1 ? rank - 2 : 0;
  p.outputs = rank > 1 ? p.dims.back() : 1;
  p.inputs = p.dims[static_cast<size_t>(p.inner_axis)];
  p.input_axis = rank_of(graph, p.input) > 0 ? rank_of(graph, p.input) - 1 : -1;
  p.windowed = rank > 2;
  return true;
}

// Conv and its like take a bias; Gemm one that is added as it is.
void find_bias(const Graph& graph, const image::Node& node, Product& p) {
  if (node.op_type == "MatMul") return;
  const bool present = node.inputs.size() > 2 && node.inputs[2] != OPTIMA_NONE;
  const bool as_it_is = float_attr(node, "beta", 1) == 1;
  p.takes_bias = as_it_is && !present;
  const uint32_t constant = constant_input(graph, node, 2);
  if (constant == OPTIMA_NONE || !as_it_is || graph.main().values[constant].dtype != OPTIMA_F32) return;
  if (dims_of(graph, constant) != std::vector<int64_t>{p.outputs}) return;
  p.bias = constant;
  p.takes_bias = true;
}

}  // namespace

int64_t elements_behind(const std::vector<int64_t>& dims, int axis) {
  int64_t out = 1;
  for (size_t d = static_cast<size_t>(axis) + 1; d < dims.size(); ++d) out *= dims[d];
  return out;
}

int64_t Product::output_of(int64_t element) const {
  if (axis < 0) return 0;
  const int64_t index = element / elements_behind(dims, axis) % dims[static_cast<size_t>(axis)];
  if (groups == 1 || axis == 0) return index;
  return element / elements_behind(dims, 0) / (dims[0] / groups) * dims[1] + index;  // ConvTranspose: [inputs, outputs of a group, ...]
}

int64_t Product::input_of(int64_t element) const {
  const int64_t index = element / elements_behind(dims, inner_axis) % dims[static_cast<size_t>(inner_axis)];
  if (groups == 1 || inner_axis == 0) return index;
  return element / elements_behind(dims, 0) / (dims[0] / groups) * dims[1] + index;  // Conv: [outputs, inputs of a group, ...]
}

int64_t Product::scale_of(int64_t output) const { return axis < 0 ? 0 : output % dims[static_cast<size_t>(axis)]; }

std::optional<Product> product_of(const Graph& graph, uint32_t index) {
  const image::Node& node = graph.main().nodes[index];
  if (kind_of(graph, node) != Kind::Product || constant_input(graph, node, 0) != OPTIMA_NONE) return std::nullopt;
  Product p;
  p.node = index;
  p.input = node.inputs[0];
  p.weights = constant_input(graph, node, 1);
  if (p.weights == OPTIMA_NONE || graph.main().values[p.weights].dtype != OPTIMA_F32) return std::nullopt;
  p.dims = dims_of(graph, p.weights);
  for (int64_t d : p.dims)
    if (d < 1) return std::nullopt;
  const bool known = node.op_type == "Gemm" ? gemm(graph, node, p) : node.op_type == "MatMul" ? matmul(graph, p) : convolution(graph, node, p);
  if (!known) return std::nullopt;
  find_bias(graph, node, p);
  return p;
}

}  // namespace optima::detail
