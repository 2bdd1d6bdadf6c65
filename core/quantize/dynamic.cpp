// SPDX-License-Identifier: Apache-2.0
#include "core/quantize/dynamic.hpp"

#include "core/support/text.hpp"

namespace optima::detail {
namespace {

constexpr int kMulVersion = 14;  // and of Add

// [outputs, inputs] as MatMulInteger wants it.
WeightCodes transposed(const WeightCodes& w, int64_t outputs, int64_t inputs) {
  WeightCodes out{w.encoding, std::vector<int32_t>(w.codes.size())};
  out.encoding.axis = 1;
  for (int64_t o = 0; o < outputs; ++o)
    for (int64_t i = 0; i < inputs; ++i) out.codes[static_cast<size_t>(i * outputs + o)] = w.codes[static_cast<size_t>(o * inputs + i)];
  return out;
}

// One number per output channel, to be broadcast over the product's output.
std::vector<int64_t> channel_dims(const Product& p, size_t count, bool convolution) {
  std::vector<int64_t> dims;
  if (count == 1 && p.axis < 0) return dims;
  dims.assign(convolution ? p.dims.size() - 1 : 1, 1);
  dims[0] = static_cast<int64_t>(count);
  return dims;
}

}  // namespace

std::string why_not_dynamic(const Graph& graph, const image::Node& node) {
  if (node.op_type == "ConvTranspose") return "no operator adds up codes for a ConvTranspose";
  if (node.op_type == "Gemm" && (int_attr(node, "transA", 0) != 0 || float_attr(node, "beta", 1) != 1)) return "no operator adds up codes for a Gemm with transA or beta";
  const bool has_bias = node.inputs.size() > 2 && node.inputs[2] != OPTIMA_NONE;
  if (node.op_type == "Conv" && has_bias && constant_input(graph, node, 2) == OPTIMA_NONE) return "its bias is no constant";
  const uint32_t x = node.inputs[0];
  return graph.main().values[x].dtype == OPTIMA_F32 ? "" : cat("reads ", short_dtype_name(graph.main().values[x].dtype), ", wanted f32");
}

DynamicNodes::Codes DynamicNodes::codes_of(uint32_t v) {
  if (const auto it = known_.find(v); it != known_.end()) return it->second;
  const image::Value x = graph_.main().values[v];
  const Codes made{edit_.value(cat(x.name, "/q"), OPTIMA_U8, x.dims), edit_.value(cat(x.name, "/scale"), OPTIMA_F32, fixed_dims({})),
                   edit_.value(cat(x.name, "/zero"), OPTIMA_U8, fixed_dims({}))};
  to_.push_back(edit_.node(cat(x.name, "/q"), "DynamicQuantizeLinear", 11, {v}, {made.value, made.scale, made.zero}));
  return known_.emplace(v, made).first->second;
}

uint32_t DynamicNodes::binary(const std::string& name, const char* op, uint32_t a, uint32_t b, uint32_t into) {
  const image::Value wide = graph_.main().values[a];
  const uint32_t out = into != OPTIMA_NONE ? into : edit_.value(name, OPTIMA_F32, wide.dims);
  to_.push_back(edit_.node(name, op, kMulVersion, {a, b}, {out}));
  return out;
}

void DynamicNodes::write(image::Node node, const Product& p, const WeightCodes& weights, const std::vector<float>* bias) {
  const bool convolution = node.op_type == "Conv", gemm = node.op_type == "Gemm";
  const std::string w = graph_.main().values[p.weights].name, y = graph_.main().values[node.outputs[0]].name;
  const Codes x = codes_of(node.inputs[0]);
  WeightCodes own = gemm && p.axis == 0 ? transposed(weights, p.outputs, p.inputs) : weights;
  const std::vector<int64_t> dims = gemm ? std::vector<int64_t>{p.inputs, p.outputs} : p.dims;
  for (float& scale : own.encoding.scale) scale = static_cast<float>(static_cast<double>(scale) * p.bias_factor);
  for (int32_t& code : own.codes) code += convolution ? 128 : 0;
  const uint32_t codes = edit_.codes(cat(w, "/q"), convolution ? OPTIMA_U8 : OPTIMA_I8, dims, own.codes);
  const uint32_t scale = edit_.floats(cat(w, "/scale"), channel_dims(p, own.encoding.scale.size(), convolution), own.encoding.scale);

  const uint32_t answer = node.outputs[0];
  const uint32_t given_bias = node.inputs.size() > 2 ? node.inputs[2] : OPTIMA_NONE;
  const auto dims_of_answer = graph_.main().values[answer].dims;
  const uint32_t sum = edit_.value(cat(y, "/sum"), OPTIMA_I32, dims_of_answer), number = edit_.value(cat(y, "/sum_f32"), OPTIMA_F32, dims_of_answer);
  node.op_type = convolution ? "ConvInteger" : "MatMulInteger";
  node.since_version = 10;
  node.inputs = {x.value, codes, x.zero};
  const int32_t middle = 128;
  if (convolution) node.inputs.push_back(edit_.codes(cat(w, "/zero"), OPTIMA_U8, {}, {&middle, 1}));
  if (!convolution) node.attrs.clear();
  node.outputs = {sum};
  to_.push_back(std::move(node));
  image::Node cast = edit_.node(cat(y, "/cast"), "Cast", edit_.quantize_version(), {sum}, {number});
  cast.attrs.push_back(int_attribute("to", OPTIMA_F32));
  to_.push_back(std::move(cast));
  const uint32_t step = binary(cat(y, "/step"), "Mul", scale, x.scale, OPTIMA_NONE);
  const bool adds = bias || given_bias != OPTIMA_NONE;
  const uint32_t product = binary(cat(y, "/product"), "Mul", number, step, adds ? OPTIMA_NONE : answer);
  if (!adds) return;
  uint32_t added = given_bias;
  if (bias) added = edit_.floats(cat(y, "/bias"), channel_dims(p, bias->size(), convolution), *bias);
  binary(cat(y, "/add"), "Add", product, added, answer);
}

}  // namespace optima::detail
