// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/compiler: see signature.hpp. Numbers of operands are those of the ONNX operator pages.
#include "plugins/llvm_cpu/compiler/signature.hpp"

#include <algorithm>

namespace optima::llvm_cpu {
namespace {

constexpr uint32_t kMany = UINT32_MAX;
/// Bits of Signature::same: inputs 0..14, 15 for input 15 and all after it; output k is bit 16 + k, 31 for all from 15 on.
constexpr uint32_t in(uint32_t k) { return 1u << k; }
constexpr uint32_t out(uint32_t k) { return 1u << (16 + k); }
constexpr uint32_t kInputs = 0xFFFF, kOutputs = 0xFFFF0000;
constexpr uint32_t kThrough = in(0) | out(0), kPair = in(0) | in(1), kBoth = kPair | out(0);

struct Signature {
  std::string_view op;
  uint32_t least = 1, most = 1;  ///< inputs; the first `least` of them must be there
  uint32_t same = kThrough;      ///< operands that share one type
  uint32_t outputs = 1;          ///< most; output 0 must be there unless `any_output`
  bool any_output = false;       ///< one of the outputs must be there, any
};

constexpr Signature kTable[] = {
    {"Abs"}, {"Neg"}, {"Sign"}, {"Sqrt"}, {"Floor"}, {"Ceil"}, {"Round"}, {"Exp"}, {"Log"}, {"Tanh"}, {"Sigmoid"}, {"Erf"}, {"Softplus"},
    {"Sin"}, {"Cos"}, {"Tan"}, {"Asin"}, {"Acos"}, {"Atan"}, {"Sinh"}, {"Cosh"}, {"Asinh"}, {"Acosh"}, {"Atanh"}, {"Not"}, {"BitwiseNot"},
    {"Mish"}, {"IsNaN", 1, 1, 0}, {"IsInf", 1, 1, 0}, {"Relu"}, {"LeakyRelu"}, {"Elu"}, {"Celu"}, {"Selu"}, {"ThresholdedRelu"},
    {"HardSigmoid"}, {"HardSwish"}, {"Swish"}, {"Softsign"}, {"Gelu"}, {"Shrink"}, {"Reciprocal"}, {"Identity"}, {"Flatten"},
    {"Transpose"}, {"DepthToSpace"}, {"SpaceToDepth"}, {"Softmax"}, {"LogSoftmax"}, {"LpNormalization"}, {"LRN"}, {"ArgMax", 1, 1, 0},
    {"ArgMin", 1, 1, 0}, {"Shape", 1, 1, 0}, {"Size", 1, 1, 0}, {"ConstantOfShape", 1, 1, 0}, {"AveragePool"}, {"GlobalAveragePool"},
    {"GlobalMaxPool"}, {"LpPool"}, {"GlobalLpPool"}, {"MaxPool", 1, 1, kThrough, 2}, {"Cast", 1, 1, 0},
    {"Add", 2, 2, kBoth}, {"Sub", 2, 2, kBoth}, {"Mul", 2, 2, kBoth}, {"Div", 2, 2, kBoth}, {"Mod", 2, 2, kBoth}, {"And", 2, 2, kBoth},
    {"Or", 2, 2, kBoth}, {"Xor", 2, 2, kBoth}, {"BitwiseAnd", 2, 2, kBoth}, {"BitwiseOr", 2, 2, kBoth}, {"BitwiseXor", 2, 2, kBoth},
    {"BitShift", 2, 2, kBoth}, {"PRelu", 2, 2, kBoth}, {"Equal", 2, 2, kPair}, {"Less", 2, 2, kPair}, {"LessOrEqual", 2, 2, kPair},
    {"Greater", 2, 2, kPair}, {"GreaterOrEqual", 2, 2, kPair}, {"Where", 3, 3, in(1) | in(2) | out(0)}, {"Max", 1, kMany, kInputs | out(0)},
    {"Min", 1, kMany, kInputs | out(0)}, {"Sum", 1, kMany, kInputs | out(0)}, {"Mean", 1, kMany, kInputs | out(0)},
    {"Clip", 1, 3, kInputs | out(0)}, {"Pow", 2, 2}, {"CastLike", 2, 2, in(1) | out(0)}, {"Dropout", 1, 3, kThrough, 2},
    {"DequantizeLinear", 2, 3, in(0) | in(2)}, {"QuantizeLinear", 2, 3, in(2) | out(0)}, {"BatchNormalization", 5, 5, kInputs | kOutputs, 5},
    {"Conv", 2, 3, kInputs | out(0)}, {"ConvTranspose", 2, 3, kInputs | out(0)}, {"MatMul", 2, 2, kBoth}, {"Gemm", 2, 3, kInputs | out(0)},
    {"Reshape", 1, 2}, {"Squeeze", 1, 2}, {"Unsqueeze", 1, 2}, {"Slice", 3, 5}, {"Split", 1, 2, in(0) | kOutputs, kMany},
    {"Concat", 1, kMany, kInputs | out(0)}, {"Expand", 2, 2}, {"Tile", 2, 2}, {"Gather", 2, 2}, {"GatherElements", 2, 2}, {"GatherND", 2, 2},
    {"ScatterElements", 3, 3, in(0) | in(2) | out(0)}, {"ScatterND", 3, 3, in(0) | in(2) | out(0)}, {"OneHot", 3, 3, in(2) | out(0)},
    {"Pad", 2, 4, in(0) | in(2) | out(0)}, {"Trilu", 1, 2}, {"Range", 3, 3, kInputs | out(0)}, {"Resize", 1, 4},
    {"LayerNormalization", 2, 3, kInputs | out(0), 3}, {"RMSNormalization", 2, 2, kBoth}, {"InstanceNormalization", 3, 3, kInputs | out(0)},
    {"GroupNormalization", 3, 3, kInputs | out(0)}, {"ReduceSum", 1, 2}, {"ReduceMean", 1, 2}, {"ReduceMax", 1, 2}, {"ReduceMin", 1, 2},
    {"ReduceProd", 1, 2}, {"ReduceL1", 1, 2}, {"ReduceL2", 1, 2}, {"ReduceSumSquare", 1, 2}, {"ReduceLogSum", 1, 2},
    {"ReduceLogSumExp", 1, 2}, {"TopK", 2, 2, kThrough, 2, true}, {"CumSum", 2, 2}, {"LSTM", 3, 8, kPair | kOutputs, 3, true},
    {"GRU", 3, 6, kPair | kOutputs, 2, true}, {"RNN", 3, 6, kPair | kOutputs, 2, true}};

const Signature* find(std::string_view op) {
  const auto at = std::find_if(std::begin(kTable), std::end(kTable), [&](const Signature& s) { return s.op == op; });
  return at == std::end(kTable) ? nullptr : at;
}

std::string numbered(const char* side, uint32_t k) { return side + (" " + std::to_string(k)); }

Refusal check_numbers(const Signature& s, const NodeView& n) {
  if (n.input_count() > s.most) return {OPTIMA_REASON_OTHER, "number of inputs", std::to_string(n.input_count()), "at most " + std::to_string(s.most)};
  if (n.output_count() > s.outputs) return {OPTIMA_REASON_OTHER, "number of outputs", std::to_string(n.output_count()), "at most " + std::to_string(s.outputs)};
  const uint32_t wanted = s.most == kMany ? std::max(s.least, n.input_count()) : s.least;
  for (uint32_t k = 0; k < wanted; ++k)
    if (!n.has_input(k)) return {OPTIMA_REASON_OTHER, numbered("input", k), "absent", "given"};
  bool any = false;
  for (uint32_t k = 0; k < n.output_count(); ++k) any = any || n.has_output(k);
  return (s.any_output ? any : n.has_output(0)) ? Refusal() : Refusal{OPTIMA_REASON_OTHER, "output 0", "absent", "given"};
}

Refusal check_operand(const GraphView& g, uint32_t value, const std::string& what) {
  const Dims dims = g.dims(value);
  int64_t extent = 1;
  for (const int64_t d : dims)
    if (const int64_t most = std::max<int64_t>(d, 1); most >= (int64_t{1} << 31) || (extent *= most) >= int64_t{1} << 31)
      return {OPTIMA_REASON_SIZE_LIMIT, what, to_text(dims), "fewer than 2^31 elements"};
  if (!g.is_constant(value)) return {};
  const optima_constant& c = *optima_get_constant(g.image(), g.value(value).constant);
  int64_t elements = 1;
  for (uint32_t d = 0; d < c.dims.count; ++d) elements *= *optima_get_int(g.image(), c.dims.first + d);
  if (c.dtype == g.dtype(value) && elements == count(dims)) return {};
  return {OPTIMA_REASON_OTHER, what, "said to be " + to_text(dims), "as its constant, of " + std::to_string(elements) + " elements of dtype " + std::to_string(c.dtype)};
}

}  // namespace

bool has_signature(std::string_view op) { return find(op) != nullptr; }

Refusal check_signature(const NodeView& n) {
  const Signature* s = find(n.op());
  if (!s) return {OPTIMA_REASON_OP, "operator", std::string(n.op()), "one of the plugin's table"};
  if (const Refusal r = check_numbers(*s, n)) return r;
  int32_t dtype = -1;
  std::string first;
  const auto look = [&](const char* side, uint32_t k, uint32_t value, uint32_t shift) -> Refusal {
    if (const Refusal r = check_operand(n.graph, value, numbered(side, k))) return r;
    if (!(s->same >> (shift + std::min(k, 15u)) & 1)) return {};
    const int32_t own = n.graph.dtype(value);
    if (dtype < 0) dtype = own, first = numbered(side, k);
    return own == dtype ? Refusal() : Refusal{OPTIMA_REASON_DTYPE, numbered(side, k), sdk::dtype_name(own), sdk::dtype_name(dtype) + " as " + first};
  };
  for (uint32_t k = 0; k < n.input_count(); ++k)
    if (n.has_input(k))
      if (const Refusal r = look("input", k, n.input(k), 0)) return r;
  for (uint32_t k = 0; k < n.output_count(); ++k)
    if (n.has_output(k))
      if (const Refusal r = look("output", k, n.output(k), 16)) return r;
  return {};
}

}  // namespace optima::llvm_cpu
