// SPDX-License-Identifier: Apache-2.0
// plugins/snpe: tier 1, which operators the Qualcomm processors take. Source: Qualcomm's document 80-63442-2 (June 2025), "Supported Network
// Layers" and "Supported ONNX Ops"; rows that only HEXAGON has by the wheels were found by asking them (tests/unit/snpe_ops).
#pragma once

#include "optima/plugin/manifest.hpp"

namespace snpe_plugin {

namespace sdk = optima::sdk;

inline constexpr sdk::Types kFloat = sdk::types(OPTIMA_F32, OPTIMA_F16);
inline constexpr sdk::Types kIndex = sdk::types(OPTIMA_I32, OPTIMA_I64);
inline constexpr sdk::Types kNumber = kFloat | kIndex;
inline constexpr sdk::Types kBool = sdk::types(OPTIMA_BOOL);
inline constexpr sdk::Types kCode = sdk::types(OPTIMA_U8, OPTIMA_I8, OPTIMA_U16, OPTIMA_I16);
inline constexpr sdk::Types kWeightCode = sdk::types(OPTIMA_I32, OPTIMA_I4, OPTIMA_U4);  ///< of biases and of weights of four bits
inline constexpr sdk::Types kMoved = kNumber | kBool | kCode;  ///< of operators that compute nothing

using Sets = std::array<sdk::Types, 8>;
inline constexpr std::string_view kEvery = "", kNoGpu = "HEXAGON SNPE_CPU", kCpuOnly = "SNPE_CPU", kNoHexagon = "ADRENO SNPE_CPU", kHexagonOnly = "HEXAGON";

/// `constants`: bit per input that must be one.
constexpr sdk::Op row(std::string_view kinds, std::string_view name, int32_t first, int32_t last, Sets in, Sets out, uint32_t constants = 0) {
  sdk::Op op;
  op.name = name;
  op.since_min = first, op.since_max = last;
  op.in = in, op.out = out;
  op.const_inputs = constants;
  op.kinds = kinds;
  return op;
}
constexpr sdk::Op unary(std::string_view kinds, std::string_view name, int32_t first, int32_t last, sdk::Types types = kFloat) {
  return row(kinds, name, first, last, {types}, {types});
}
constexpr sdk::Op compare(std::string_view kinds, std::string_view name, int32_t first, int32_t last) {
  return row(kinds, name, first, last, {kNumber | kBool}, {kBool});
}
constexpr sdk::Op reduce(std::string_view kinds, std::string_view name, int32_t first, int32_t last) {
  return row(kinds, name, first, last, {kNumber, kIndex}, {kNumber}, 2);
}

inline constexpr sdk::Op kOperators[] = {
    unary(kEvery, "Abs", 13, 13, kNumber),
    row(kEvery, "Add", 13, 14, {kNumber}, {kNumber}),
    row(kEvery, "And", 7, 7, {kBool}, {kBool}),
    row(kEvery, "ArgMax", 13, 13, {kNumber}, {kIndex}),
    row(kEvery, "ArgMin", 13, 13, {kNumber}, {kIndex}),
    unary(kCpuOnly, "Asin", 7, 22),
    unary(kNoGpu, "Atan", 7, 22),
    unary(kEvery, "AveragePool", 11, 22),
    row(kEvery, "BatchNormalization", 14, 15, {kFloat}, {kFloat}, 0b11110),
    row(kEvery, "Cast", 13, 25, {kMoved}, {kMoved}),
    unary(kNoGpu, "Ceil", 13, 13),
    row(kEvery, "Clip", 12, 13, {kNumber}, {kNumber}, 0b110),
    row(kEvery, "Concat", 11, 13, {kMoved}, {kMoved}),
    row(kEvery, "Conv", 11, 22, {kFloat}, {kFloat}),
    row(kEvery, "ConvTranspose", 11, 22, {kFloat}, {kFloat}),
    unary(kEvery, "Cos", 7, 22),
    row(kNoGpu, "CumSum", 14, 14, {kNumber, kIndex}, {kNumber}, 2),
    row(kEvery, "DepthToSpace", 11, 13, {kFloat}, {kFloat}),
    row(kEvery, "DequantizeLinear", 13, 25, {kCode | kWeightCode, kFloat, kCode | kWeightCode}, {kFloat}, 0b110),
    row(kEvery, "Div", 13, 14, {kNumber}, {kNumber}),
    unary(kEvery, "Elu", 6, 22),
    compare(kEvery, "Equal", 11, 19),
    row(kHexagonOnly, "Erf", 13, 13, {kFloat}, {kFloat}),
    unary(kEvery, "Exp", 13, 13),
    row(kEvery, "Expand", 13, 13, {kMoved, kIndex}, {kMoved}, 2),
    unary(kEvery, "Flatten", 11, 25, kMoved),
    unary(kEvery, "Floor", 13, 13),
    row(kHexagonOnly, "GRU", 14, 22, {kFloat, kFloat, kFloat, kFloat, kIndex, kFloat}, {kFloat}, 0b1110),
    row(kEvery, "Gather", 13, 13, {kMoved, kIndex}, {kMoved}),
    row(kNoGpu, "GatherElements", 13, 13, {kMoved, kIndex}, {kMoved}),
    row(kNoGpu, "GatherND", 13, 13, {kMoved, kIndex}, {kMoved}),
    unary(kNoGpu, "Gelu", 20, 20),
    row(kEvery, "Gemm", 13, 13, {kFloat}, {kFloat}),
    unary(kEvery, "GlobalAveragePool", 1, 22),
    unary(kEvery, "GlobalMaxPool", 1, 22),
    compare(kEvery, "Greater", 13, 13),
    compare(kEvery, "GreaterOrEqual", 16, 16),
    row(kNoGpu, "GridSample", 16, 22, {kFloat}, {kFloat}),
    row(kNoGpu, "GroupNormalization", 18, 21, {kFloat}, {kFloat}, 0b110),
    unary(kHexagonOnly, "HardSigmoid", 6, 22),
    unary(kEvery, "HardSwish", 14, 22),
    row(kEvery, "InstanceNormalization", 6, 22, {kFloat}, {kFloat}, 0b110),
    unary(kEvery, "Identity", 13, 25, kMoved),
    unary(kEvery, "LRN", 13, 13),
    row(kEvery, "LSTM", 14, 22, {kFloat, kFloat, kFloat, kFloat, kIndex, kFloat}, {kFloat}, 0b10001110),
    row(kEvery, "LayerNormalization", 17, 17, {kFloat}, {kFloat}),
    unary(kEvery, "LeakyRelu", 16, 16),
    compare(kEvery, "Less", 13, 13),
    compare(kEvery, "LessOrEqual", 16, 16),
    unary(kEvery, "Log", 13, 13),
    unary(kEvery, "LogSoftmax", 13, 13),
    unary(kEvery, "LpNormalization", 1, 22),
    unary(kNoHexagon, "LpPool", 18, 22),
    row(kEvery, "MatMul", 13, 13, {kNumber}, {kNumber}),
    row(kEvery, "Max", 13, 13, {kNumber}, {kNumber}),
    unary(kEvery, "MaxPool", 12, 22),
    row(kHexagonOnly, "Mean", 13, 13, {kFloat}, {kFloat}),
    row(kEvery, "Min", 13, 13, {kNumber}, {kNumber}),
    row(kCpuOnly, "Mod", 13, 13, {kNumber}, {kNumber}),
    row(kEvery, "Mul", 13, 14, {kNumber}, {kNumber}),
    unary(kEvery, "Neg", 13, 13, kNumber),
    row(kEvery, "Not", 1, 1, {kBool}, {kBool}),
    row(kNoGpu, "OneHot", 11, 11, {kNumber, kIndex, kNumber}, {kNumber}, 0b110),
    row(kEvery, "Or", 7, 7, {kBool}, {kBool}),
    row(kEvery, "PRelu", 16, 16, {kFloat}, {kFloat}, 2),
    row(kEvery, "Pad", 13, 25, {kMoved, kIndex, kMoved, kIndex}, {kMoved}, 0b1110),
    row(kEvery, "Pow", 15, 15, {kNumber}, {kNumber}),
    row(kNoGpu, "QuantizeLinear", 13, 25, {kFloat, kFloat, kCode}, {kCode}, 0b110),
    unary(kEvery, "Reciprocal", 13, 13),
    row(kHexagonOnly, "ReduceL2", 18, 18, {kFloat, kIndex}, {kFloat}, 2),
    reduce(kEvery, "ReduceMax", 18, 20),
    reduce(kEvery, "ReduceMean", 18, 18),
    reduce(kEvery, "ReduceMin", 18, 20),
    reduce(kNoHexagon, "ReduceProd", 18, 18),
    reduce(kEvery, "ReduceSum", 13, 13),
    unary(kEvery, "Relu", 13, 14),
    row(kEvery, "Reshape", 13, 25, {kMoved, kIndex}, {kMoved}, 2),
    row(kEvery, "Resize", 13, 19, {kFloat, kFloat, kFloat, kIndex}, {kFloat}, 0b1110),
    row(kEvery, "RoiAlign", 16, 22, {kFloat, kFloat, kIndex}, {kFloat}),
    unary(kEvery, "Round", 11, 22),
    row(kNoGpu, "ScatterElements", 16, 18, {kMoved, kIndex, kMoved}, {kMoved}),
    row(kNoGpu, "ScatterND", 16, 18, {kMoved, kIndex, kMoved}, {kMoved}),
    unary(kHexagonOnly, "Selu", 6, 22),
    unary(kEvery, "Sigmoid", 13, 13),
    unary(kNoGpu, "Sign", 13, 13, kNumber),
    unary(kEvery, "Sin", 7, 22),
    row(kEvery, "Slice", 13, 13, {kMoved, kIndex}, {kMoved}, 0b11110),
    unary(kEvery, "Softmax", 13, 13),
    unary(kNoGpu, "Softplus", 1, 22),
    unary(kEvery, "SpaceToDepth", 1, 13),
    row(kEvery, "Split", 13, 18, {kMoved, kIndex}, {kMoved}, 2),
    unary(kEvery, "Sqrt", 13, 13),
    row(kEvery, "Squeeze", 13, 25, {kMoved, kIndex}, {kMoved}, 2),
    row(kEvery, "Sub", 13, 14, {kNumber}, {kNumber}),
    row(kEvery, "Sum", 13, 13, {kFloat}, {kFloat}),
    unary(kEvery, "Tanh", 13, 13),
    unary(kHexagonOnly, "ThresholdedRelu", 10, 22),
    row(kEvery, "Tile", 13, 13, {kMoved, kIndex}, {kMoved}, 2),
    row(kEvery, "TopK", 11, 24, {kNumber, kIndex}, {kNumber, kIndex}, 2),
    unary(kEvery, "Transpose", 13, 25, kMoved),
    row(kEvery, "Unsqueeze", 13, 25, {kMoved, kIndex}, {kMoved}, 2),
    row(kEvery, "Where", 16, 16, {kBool, kMoved}, {kMoved}),
    row(kEvery, "Xor", 7, 7, {kBool}, {kBool}),
};

}  // namespace snpe_plugin
