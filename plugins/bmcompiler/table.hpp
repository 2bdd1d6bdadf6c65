// SPDX-License-Identifier: Apache-2.0
// plugins/bmcompiler: tier 1, the operators that have a form in tpu-mlir's Top dialect. An upper bound: what a row of top/ refuses, by attributes,
// shapes and chip, check() refuses too.
#pragma once

#include "optima/plugin/manifest.hpp"

namespace bmcompiler_plugin {

namespace sdk = optima::sdk;

inline constexpr sdk::Types kFloat = sdk::types(OPTIMA_F32);
inline constexpr sdk::Types kIndex = sdk::types(OPTIMA_I32, OPTIMA_I64);
inline constexpr sdk::Types kNumber = kFloat | kIndex;
inline constexpr sdk::Types kHalf = sdk::types(OPTIMA_F16, OPTIMA_BF16);
inline constexpr sdk::Types kBool = sdk::types(OPTIMA_BOOL);
inline constexpr sdk::Types kCode = sdk::types(OPTIMA_U8, OPTIMA_I8);
inline constexpr sdk::Types kWeightCode = sdk::types(OPTIMA_I32, OPTIMA_I4, OPTIMA_U4);  ///< of biases and of weights of four bits
inline constexpr sdk::Types kBits = kIndex | kCode | sdk::types(OPTIMA_I16, OPTIMA_U16, OPTIMA_U32, OPTIMA_U64);  ///< of wider ones than 16 bits check() says why not
inline constexpr sdk::Types kMoved = kNumber | kBool;                                    ///< of operators that compute nothing

using Sets = std::array<sdk::Types, 8>;

/// `constants`: bit per input that must be one.
constexpr sdk::Op row(std::string_view name, int32_t first, int32_t last, Sets in, Sets out, uint32_t constants = 0) {
  sdk::Op op;
  op.name = name;
  op.since_min = first, op.since_max = last;
  op.in = in, op.out = out;
  op.const_inputs = constants;
  op.static_shape = false, op.batch_only = true;  // for bmcompiler.batches; check() refuses an open batch without it
  return op;
}
constexpr sdk::Op unary(std::string_view name, int32_t first, int32_t last, sdk::Types types = kFloat) { return row(name, first, last, {types}, {types}); }

inline constexpr sdk::Op kOperators[] = {
    unary("Abs", 13, 13),
    unary("Acos", 7, 22),
    unary("Acosh", 9, 22),
    row("Add", 13, 14, {kFloat}, {kFloat}),
    row("And", 7, 7, {kBool}, {kBool}),
    row("ArgMax", 13, 13, {kFloat}, {kIndex}),
    row("ArgMin", 13, 13, {kFloat}, {kIndex}),
    unary("Asin", 7, 22),
    unary("Asinh", 9, 22),
    unary("Atan", 7, 22),
    unary("Atanh", 9, 22),
    row("Attention", 23, 25, {kFloat, kFloat, kFloat, kFloat | kBool, kFloat, kFloat, kIndex}, {kFloat}),
    unary("AveragePool", 11, 22),
    row("BatchNormalization", 9, 15, {kFloat}, {kFloat}, 0b11110),
    row("BitShift", 11, 28, {kBits}, {kBits}),
    row("BitwiseAnd", 18, 18, {kBits}, {kBits}),
    unary("BitwiseNot", 18, 18, kBits),
    row("BitwiseOr", 18, 18, {kBits}, {kBits}),
    row("BitwiseXor", 18, 18, {kBits}, {kBits}),
    row("Cast", 13, 28, {kMoved | kHalf}, {kMoved | kHalf}),  // of halves check() says what to do instead
    row("Cast", 13, 28, {kMoved}, {kMoved}),
    row("CastLike", 15, 25, {kMoved, kMoved}, {kMoved}),
    unary("Ceil", 13, 13),
    unary("Celu", 12, 28),
    row("CenterCropPad", 18, 18, {kMoved, kIndex}, {kMoved}, 2),
    row("Clip", 13, 13, {kFloat}, {kFloat}, 0b110),
    row("Concat", 13, 13, {kMoved}, {kMoved}),
    row("Conv", 11, 22, {kFloat}, {kFloat}),
    row("ConvTranspose", 11, 22, {kFloat}, {kFloat}, 0b110),
    unary("Cos", 7, 22),
    unary("Cosh", 9, 22),
    row("CumProd", 26, 26, {kFloat, kIndex}, {kFloat}, 2),
    row("CumSum", 11, 14, {kFloat, kIndex}, {kFloat}, 2),
    unary("DepthToSpace", 13, 28, kMoved),
    row("DequantizeLinear", 13, 28, {kCode | kWeightCode, kFloat, kCode | kWeightCode}, {kFloat}, 0b110),
    row("Div", 13, 14, {kFloat}, {kFloat}),
    row("Dropout", 13, 22, {kFloat, kFloat, kBool}, {kFloat}, 0b110),
    row("Einsum", 12, 28, {kFloat}, {kFloat}),
    unary("Elu", 6, 22),
    row("Equal", 13, 19, {kNumber}, {kBool}),
    unary("Erf", 13, 13),
    unary("Exp", 13, 13),
    row("Expand", 13, 13, {kMoved, kIndex}, {kMoved}, 2),
    unary("Flatten", 13, 25, kMoved),
    unary("Floor", 13, 13),
    row("GRU", 7, 22, {kFloat, kFloat, kFloat, kFloat, kIndex, kFloat}, {kFloat}, 0b1110),
    row("Gather", 13, 13, {kMoved, kIndex}, {kMoved}),
    row("GatherElements", 13, 13, {kMoved, kIndex}, {kMoved}),
    row("GatherND", 13, 13, {kMoved, kIndex}, {kMoved}),
    unary("Gelu", 20, 20),
    row("Gemm", 13, 13, {kFloat}, {kFloat}),
    unary("GlobalAveragePool", 1, 22),
    unary("GlobalLpPool", 2, 22),
    unary("GlobalMaxPool", 1, 22),
    row("Greater", 13, 13, {kNumber}, {kBool}),
    row("GreaterOrEqual", 12, 16, {kNumber}, {kBool}),
    row("GridSample", 16, 22, {kFloat}, {kFloat}),
    row("GroupNormalization", 18, 21, {kFloat}, {kFloat}, 0b110),
    unary("HardSigmoid", 6, 22),
    unary("HardSwish", 14, 22),
    unary("Hardmax", 13, 13),
    unary("Identity", 13, 25, kMoved),
    row("InstanceNormalization", 6, 22, {kFloat}, {kFloat}, 0b110),
    row("IsInf", 10, 20, {kFloat}, {kBool}),
    row("IsNaN", 9, 20, {kFloat}, {kBool}),
    unary("LRN", 13, 13),
    row("LSTM", 7, 22, {kFloat, kFloat, kFloat, kFloat, kIndex, kFloat, kFloat, kFloat}, {kFloat}, 0b10001110),
    row("LayerNormalization", 17, 17, {kFloat}, {kFloat}, 0b110),
    unary("LeakyRelu", 6, 16),
    row("Less", 13, 13, {kNumber}, {kBool}),
    row("LessOrEqual", 12, 16, {kNumber}, {kBool}),
    unary("Log", 13, 13),
    unary("LogSoftmax", 13, 13),
    unary("LpNormalization", 1, 22),
    unary("LpPool", 11, 22),
    row("MatMul", 13, 13, {kFloat}, {kFloat}),
    row("Max", 13, 13, {kFloat}, {kFloat}),
    row("MaxPool", 12, 22, {kFloat}, {kFloat, kIndex}),
    row("Mean", 13, 13, {kFloat}, {kFloat}),
    unary("MeanVarianceNormalization", 13, 13),
    row("Min", 13, 13, {kFloat}, {kFloat}),
    unary("Mish", 18, 22),
    row("Mod", 13, 28, {kNumber}, {kNumber}),
    row("Mul", 13, 14, {kFloat}, {kFloat}),
    unary("Neg", 13, 13),
    row("NegativeLogLikelihoodLoss", 13, 22, {kFloat, kIndex, kFloat}, {kFloat}),
    row("Not", 1, 1, {kBool}, {kBool}),
    row("OneHot", 11, 28, {kNumber, kIndex, kNumber}, {kNumber}, 0b110),
    row("Or", 7, 7, {kBool}, {kBool}),
    row("PRelu", 9, 16, {kFloat}, {kFloat}),
    row("Pad", 13, 25, {kMoved, kIndex, kMoved, kIndex}, {kMoved}, 0b1110),
    row("Pow", 13, 15, {kFloat}, {kFloat}),
    row("QuantizeLinear", 13, 28, {kFloat, kFloat, kCode}, {kCode}, 0b110),
    row("RMSNormalization", 23, 23, {kFloat}, {kFloat}),
    unary("Reciprocal", 13, 13),
    row("RNN", 7, 22, {kFloat, kFloat, kFloat, kFloat, kIndex, kFloat}, {kFloat}, 0b1110),
    row("ReduceL1", 13, 18, {kFloat, kIndex}, {kFloat}, 2),
    row("ReduceL2", 13, 18, {kFloat, kIndex}, {kFloat}, 2),
    row("ReduceLogSum", 13, 28, {kFloat, kIndex}, {kFloat}, 2),
    row("ReduceLogSumExp", 13, 28, {kFloat, kIndex}, {kFloat}, 2),
    row("ReduceMax", 13, 20, {kFloat, kIndex}, {kFloat}, 2),
    row("ReduceMean", 13, 18, {kFloat, kIndex}, {kFloat}, 2),
    row("ReduceMin", 13, 20, {kFloat, kIndex}, {kFloat}, 2),
    row("ReduceProd", 13, 18, {kFloat, kIndex}, {kFloat}, 2),
    row("ReduceSum", 13, 13, {kFloat, kIndex}, {kFloat}, 2),
    row("ReduceSumSquare", 13, 18, {kFloat, kIndex}, {kFloat}, 2),
    unary("Relu", 13, 14),
    row("Reshape", 13, 25, {kMoved, kIndex}, {kMoved}, 2),
    row("Resize", 13, 19, {kFloat, kFloat, kFloat, kIndex}, {kFloat}, 0b1110),
    row("ReverseSequence", 10, 28, {kFloat, kIndex}, {kFloat}, 2),
    row("RoiAlign", 10, 22, {kFloat, kFloat, kIndex}, {kFloat}),
    unary("Round", 11, 22),
    row("RotaryEmbedding", 23, 23, {kFloat, kFloat, kFloat, kIndex}, {kFloat}),
    row("ScatterElements", 13, 18, {kMoved, kIndex, kMoved}, {kMoved}),
    row("ScatterND", 13, 18, {kMoved, kIndex, kMoved}, {kMoved}),
    unary("Selu", 6, 22),
    unary("Shrink", 9, 9),
    unary("Sigmoid", 13, 13),
    unary("Sign", 13, 13),
    unary("Sin", 7, 22),
    unary("Sinh", 9, 22),
    row("Slice", 13, 13, {kMoved, kIndex}, {kMoved}, 0b11110),
    unary("Softmax", 13, 13),
    row("SoftmaxCrossEntropyLoss", 13, 13, {kFloat, kIndex, kFloat}, {kFloat}),
    unary("Softplus", 1, 22),
    unary("Softsign", 1, 22),
    unary("SpaceToDepth", 13, 28, kMoved),
    row("Split", 13, 18, {kMoved, kIndex}, {kMoved}, 2),
    unary("Sqrt", 13, 13),
    row("Squeeze", 13, 25, {kMoved, kIndex}, {kMoved}, 2),
    row("Sub", 13, 14, {kFloat}, {kFloat}),
    row("Sum", 13, 13, {kFloat}, {kFloat}),
    row("SwiGLU", 28, 28, {kFloat}, {kFloat}),
    unary("Swish", 24, 24),
    unary("Tan", 7, 22),
    unary("Tanh", 13, 13),
    unary("ThresholdedRelu", 10, 22),
    row("TensorScatter", 24, 24, {kMoved, kMoved, kIndex}, {kMoved}),
    row("Tile", 13, 13, {kMoved, kIndex}, {kMoved}, 2),
    row("TopK", 11, 24, {kFloat, kIndex}, {kFloat, kIndex}, 2),
    unary("Transpose", 13, 25, kMoved),
    row("Trilu", 14, 14, {kFloat, kIndex}, {kFloat}, 2),
    row("Unsqueeze", 13, 25, {kMoved, kIndex}, {kMoved}, 2),
    row("Where", 9, 16, {kBool, kMoved}, {kMoved}),
    row("Xor", 7, 7, {kBool}, {kBool}),
};

}  // namespace bmcompiler_plugin
