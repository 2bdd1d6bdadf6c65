// SPDX-License-Identifier: Apache-2.0
// reference/shapes: the rules by operator, and inference of one node.
#include <algorithm>
#include <iterator>

#include "reference/ops/table.hpp"
#include "reference/shapes/rules.hpp"

namespace optima::reference {
namespace {

/// Sorted by name. Not here: what only running tells (NonZero, Unique, NonMaxSuppression, If, Loop, Scan).
constexpr Rule kRules[] = {
    {"Abs", rules::same}, {"Acos", rules::same}, {"Acosh", rules::same}, {"Add", rules::binary}, {"AffineGrid", rules::affine_grid},
    {"And", rules::binary}, {"ArgMax", rules::arg}, {"ArgMin", rules::arg}, {"Asin", rules::same}, {"Asinh", rules::same}, {"Atan", rules::same},
    {"Atanh", rules::same}, {"Attention", rules::attention}, {"AveragePool", rules::pool}, {"BatchNormalization", rules::batch_normalization},
    {"Bernoulli", rules::random_numbers}, {"BitCast", rules::cast}, {"BitShift", rules::binary}, {"BitwiseAnd", rules::binary},
    {"BitwiseNot", rules::same}, {"BitwiseOr", rules::binary}, {"BitwiseXor", rules::binary}, {"BlackmanWindow", rules::window},
    {"Cast", rules::cast}, {"CastLike", rules::cast_like}, {"CausalConvWithState", rules::causal_conv_with_state}, {"Ceil", rules::same},
    {"Celu", rules::same}, {"CenterCropPad", rules::center_crop_pad}, {"Clip", rules::same}, {"Col2Im", rules::col2im}, {"Compress", rules::compress},
    {"Concat", rules::concat}, {"Constant", rules::constant}, {"ConstantOfShape", rules::constant_of_shape}, {"Conv", rules::conv},
    {"ConvInteger", rules::conv_integer}, {"ConvTranspose", rules::conv_transpose}, {"Cos", rules::same}, {"Cosh", rules::same},
    {"CumProd", rules::same}, {"CumSum", rules::same}, {"DFT", rules::dft}, {"DeformConv", rules::deform_conv},
    {"DepthToSpace", rules::depth_to_space}, {"DequantizeLinear", rules::dequantize_linear}, {"Det", rules::det}, {"Div", rules::binary},
    {"Dropout", rules::dropout}, {"DynamicQuantizeLinear", rules::dynamic_quantize_linear}, {"Einsum", rules::einsum}, {"Elu", rules::same},
    {"Equal", rules::comparison}, {"Erf", rules::same}, {"Exp", rules::same}, {"Expand", rules::expand}, {"EyeLike", rules::eye_like},
    {"Flatten", rules::flatten}, {"Floor", rules::same}, {"GRU", rules::gru}, {"Gather", rules::gather}, {"GatherElements", rules::gather_elements},
    {"GatherND", rules::gather_nd}, {"Gelu", rules::same}, {"Gemm", rules::gemm}, {"GlobalAveragePool", rules::global_pool},
    {"GlobalLpPool", rules::global_pool}, {"GlobalMaxPool", rules::global_pool}, {"Greater", rules::comparison},
    {"GreaterOrEqual", rules::comparison}, {"GridSample", rules::grid_sample}, {"GroupNormalization", rules::same}, {"HammingWindow", rules::window},
    {"HannWindow", rules::window}, {"HardSigmoid", rules::same}, {"HardSwish", rules::same}, {"Hardmax", rules::same}, {"Identity", rules::same},
    {"InstanceNormalization", rules::same}, {"IsInf", rules::same_bool}, {"IsNaN", rules::same_bool}, {"LRN", rules::same}, {"LSTM", rules::lstm},
    {"LayerNormalization", rules::layer_normalization}, {"LeakyRelu", rules::same}, {"Less", rules::comparison}, {"LessOrEqual", rules::comparison},
    {"LinearAttention", rules::linear_attention}, {"Log", rules::same}, {"LogSoftmax", rules::same}, {"LpNormalization", rules::same},
    {"LpPool", rules::pool}, {"MatMul", rules::matmul}, {"MatMulInteger", rules::matmul_integer}, {"Max", rules::binary},
    {"MaxPool", rules::max_pool}, {"MaxRoiPool", rules::max_roi_pool}, {"MaxUnpool", rules::max_unpool}, {"Mean", rules::binary},
    {"MeanVarianceNormalization", rules::same}, {"MelWeightMatrix", rules::mel_weight_matrix}, {"Min", rules::binary}, {"Mish", rules::same},
    {"Mod", rules::binary}, {"Mul", rules::binary}, {"Multinomial", rules::multinomial}, {"Neg", rules::same},
    {"NegativeLogLikelihoodLoss", rules::loss}, {"Not", rules::same_bool}, {"OneHot", rules::one_hot}, {"Or", rules::binary}, {"PRelu", rules::prelu},
    {"Pad", rules::pad}, {"Pow", rules::binary}, {"QLinearConv", rules::qlinear_conv}, {"QLinearMatMul", rules::qlinear_matmul},
    {"QuantizeLinear", rules::quantize_linear}, {"RMSNormalization", rules::rms_normalization}, {"RNN", rules::rnn},
    {"RandomNormal", rules::random_numbers}, {"RandomNormalLike", rules::random_numbers}, {"RandomUniform", rules::random_numbers},
    {"RandomUniformLike", rules::random_numbers}, {"Range", rules::range}, {"Reciprocal", rules::same}, {"ReduceL1", rules::reduce},
    {"ReduceL2", rules::reduce}, {"ReduceLogSum", rules::reduce}, {"ReduceLogSumExp", rules::reduce}, {"ReduceMax", rules::reduce},
    {"ReduceMean", rules::reduce}, {"ReduceMin", rules::reduce}, {"ReduceProd", rules::reduce}, {"ReduceSum", rules::reduce},
    {"ReduceSumSquare", rules::reduce}, {"Relu", rules::same}, {"Reshape", rules::reshape}, {"Resize", rules::resize},
    {"ReverseSequence", rules::same}, {"RoiAlign", rules::roi_align}, {"RotaryEmbedding", rules::same}, {"Round", rules::same}, {"STFT", rules::stft},
    {"Scatter", rules::scatter_elements}, {"ScatterElements", rules::scatter_elements}, {"ScatterND", rules::scatter_nd}, {"Selu", rules::same},
    {"Shape", rules::shape}, {"Shrink", rules::same}, {"Sigmoid", rules::same}, {"Sign", rules::same}, {"Sin", rules::same}, {"Sinh", rules::same},
    {"Size", rules::size}, {"Slice", rules::slice}, {"Softmax", rules::same}, {"SoftmaxCrossEntropyLoss", rules::loss}, {"Softplus", rules::same},
    {"Softsign", rules::same}, {"SpaceToDepth", rules::space_to_depth}, {"Split", rules::split}, {"Sqrt", rules::same}, {"Squeeze", rules::squeeze},
    {"Sub", rules::binary}, {"Sum", rules::binary}, {"SwiGLU", rules::swiglu}, {"Swish", rules::same}, {"Tan", rules::same}, {"Tanh", rules::same},
    {"TensorScatter", rules::same}, {"TfIdfVectorizer", rules::tf_idf_vectorizer}, {"ThresholdedRelu", rules::same}, {"Tile", rules::tile},
    {"TopK", rules::top_k}, {"Transpose", rules::transpose}, {"Trilu", rules::same}, {"Unsqueeze", rules::unsqueeze}, {"Upsample", rules::upsample},
    {"Where", rules::where}, {"Xor", rules::binary},
};

void check_shape(const Dims& dims) {
  if (dims.size() > 64) invalid("the result has rank " + std::to_string(dims.size()) + ", must be 64 or less");
  for (int64_t d : dims)
    if (d < 0) invalid("shape " + show(dims) + " has a negative dim");
}

}  // namespace

std::string name_of(const optima_graph& graph, const optima_node& node) {
  return "node '" + std::string(view(optima_string(graph.image, &node.name))) + "'";
}

const Rule* rule_of(const optima_graph& graph, const optima_node& node) {
  const Row* row = find_row(graph.image, node);
  if (!row) return nullptr;
  const auto* rule = std::lower_bound(std::begin(kRules), std::end(kRules), row->sig.name, [](const Rule& r, std::string_view op) { return r.op < op; });
  return rule != std::end(kRules) && rule->op == row->sig.name ? rule : nullptr;
}

Inference infer_shapes(const optima_graph& graph, const optima_node& node, const std::vector<Tensor>& inputs, const Rule* rule) {
  static const Lookup nowhere;
  static const Foreign nobody;
  Inference out;
  out.data_decides = rule == nullptr;
  if (!rule) return out;
  try {
    out.outputs.resize(node.outputs.count);
    rule->infer(Call(graph, node, inputs, nowhere, nobody), out);
    for (const Type& t : out.outputs) check_shape(t.dims);
  } catch (const Wanted& w) {
    out.outputs.clear();
    out.wants = w.input;
  } catch (const Error& e) {
    throw Error(e.code, name_of(graph, node) + ": " + e.text, node.id);
  }
  return out;
}

Inference infer_shapes(const optima_graph& graph, const optima_node& node, const std::vector<Tensor>& inputs) {
  return infer_shapes(graph, node, inputs, rule_of(graph, node));
}

}  // namespace optima::reference
