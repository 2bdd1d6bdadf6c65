// SPDX-License-Identifier: Apache-2.0
// reference/ops: the table. Type sets may be wider than the operator's schema, never wider than the evaluator.
#include "reference/ops/table.hpp"

#include "reference/ops/ops.hpp"

namespace optima::reference {
namespace {

template <class... D>
constexpr TypeSet set(D... dtypes) { return (TypeSet{0} | ... | (TypeSet{1} << dtypes)); }

constexpr TypeSet F = set(OPTIMA_F32, OPTIMA_F64, OPTIMA_F16, OPTIMA_BF16);  // floats
constexpr TypeSet Sig = set(OPTIMA_I8, OPTIMA_I16, OPTIMA_I32, OPTIMA_I64);
constexpr TypeSet Uns = set(OPTIMA_U8, OPTIMA_U16, OPTIMA_U32, OPTIMA_U64);
constexpr TypeSet Int = Sig | Uns;
constexpr TypeSet N = F | Int;  // numbers
constexpr TypeSet B = set(OPTIMA_BOOL);
constexpr TypeSet L = set(OPTIMA_I64);
constexpr TypeSet Ix = set(OPTIMA_I32, OPTIMA_I64);  // indices
constexpr TypeSet Mini = set(OPTIMA_F8E4M3FN, OPTIMA_F8E4M3FNUZ, OPTIMA_F8E5M2, OPTIMA_F8E5M2FNUZ, OPTIMA_F4E2M1, OPTIMA_F8E8M0);
constexpr TypeSet Packed = set(OPTIMA_U4, OPTIMA_I4, OPTIMA_U2, OPTIMA_I2);
constexpr TypeSet S = set(OPTIMA_STRING);
constexpr TypeSet A = N | B | Mini | Packed | S | set(OPTIMA_C64, OPTIMA_C128);  // any
constexpr TypeSet C = N | B | Mini | Packed;                                    // any with arithmetic

constexpr uint32_t k01 = 3, k12 = 6, kAll = 0xFFFFFFFF;

constexpr Row kTable[] = {
    {"Abs", 6, 13, ops::abs, {N}, {N}},
    {"Acos", 7, 22, ops::acos, {F}, {F}},
    {"Acosh", 9, 22, ops::acosh, {F}, {F}},
    {"Add", 7, 14, ops::add, {N}, {N}, k01},
    {"And", 7, 7, ops::logical_and, {B}, {B}},
    {"Asin", 7, 22, ops::asin, {F}, {F}},
    {"Asinh", 9, 22, ops::asinh, {F}, {F}},
    {"Atan", 7, 22, ops::atan, {F}, {F}},
    {"Atanh", 9, 22, ops::atanh, {F}, {F}},
    {"AveragePool", 7, 22, ops::average_pool, {F}, {F}},
    {"BatchNormalization", 7, 15, ops::batch_normalization, {F}, {F}},
    {"BitCast", 26, 26, ops::bit_cast, {A & ~S}, {A & ~S}},
    {"BitShift", 11, 28, ops::bit_shift, {Int}, {Int}, k01},
    {"BitwiseAnd", 18, 18, ops::bitwise_and, {Int}, {Int}, k01},
    {"BitwiseNot", 18, 18, ops::bitwise_not, {Int}, {Int}},
    {"BitwiseOr", 18, 18, ops::bitwise_or, {Int}, {Int}, k01},
    {"BitwiseXor", 18, 18, ops::bitwise_xor, {Int}, {Int}, k01},
    {"Cast", 6, 28, ops::cast, {C | S}, {C | S}},
    {"CastLike", 15, 25, ops::cast_like, {C | S}, {C | S}},
    {"Ceil", 6, 13, ops::ceil, {F}, {F}},
    {"Celu", 12, 28, ops::celu, {F}, {F}},
    {"CenterCropPad", 18, 18, ops::center_crop_pad, {A, Ix}, {A}},
    {"Clip", 6, 13, ops::clip, {N}, {N}, kAll},
    {"Compress", 9, 28, ops::compress, {A, B}, {A}},
    {"Concat", 4, 13, ops::concat, {A}, {A}, kAll},
    {"Constant", 1, 25, ops::constant, {}, {A}},
    {"ConstantOfShape", 9, 25, ops::constant_of_shape, {L}, {A}},
    {"Conv", 1, 22, ops::conv, {F}, {F}, kAll},
    {"Cos", 7, 22, ops::cos, {F}, {F}},
    {"Cosh", 9, 22, ops::cosh, {F}, {F}},
    {"DepthToSpace", 1, 28, ops::depth_to_space, {A}, {A}},
    {"Div", 7, 14, ops::div, {N}, {N}, k01},
    {"Dropout", 7, 22, ops::dropout, {A & ~S, F, B}, {A & ~S, F | B}},
    {"Einsum", 12, 28, ops::einsum, {N}, {N}, kAll},
    {"Elu", 6, 22, ops::elu, {F}, {F}},
    {"Equal", 7, 19, ops::equal, {N | B | S}, {B}, k01},
    {"Erf", 9, 13, ops::erf, {N}, {N}},
    {"Exp", 6, 13, ops::exp, {F}, {F}},
    {"Expand", 8, 13, ops::expand, {A, L}, {A}},
    {"EyeLike", 9, 22, ops::eye_like, {A}, {N | B}},
    {"Flatten", 1, 25, ops::flatten, {A}, {A}},
    {"Floor", 6, 13, ops::floor, {F}, {F}},
    {"Gather", 1, 13, ops::gather, {A, Ix}, {A}},
    {"GatherElements", 11, 13, ops::gather_elements, {A, Ix}, {A}},
    {"GatherND", 11, 13, ops::gather_nd, {A, L}, {A}},
    {"Gelu", 20, 20, ops::gelu, {F}, {F}},
    {"Gemm", 7, 13, ops::gemm, {N}, {N}, kAll},
    {"GlobalAveragePool", 1, 22, ops::global_average_pool, {F}, {F}},
    {"GlobalLpPool", 2, 22, ops::global_lp_pool, {F}, {F}},
    {"GlobalMaxPool", 1, 22, ops::global_max_pool, {F}, {F}},
    {"Greater", 7, 13, ops::greater, {N}, {B}, k01},
    {"GreaterOrEqual", 12, 16, ops::greater_or_equal, {N}, {B}, k01},
    {"GroupNormalization", 18, 21, ops::group_normalization, {F}, {F}},
    {"HardSigmoid", 6, 22, ops::hard_sigmoid, {F}, {F}},
    {"HardSwish", 14, 22, ops::hard_swish, {F}, {F}},
    {"Hardmax", 1, 13, ops::hardmax, {F}, {F}},
    {"Identity", 1, 25, ops::identity, {A}, {A}},
    {"InstanceNormalization", 6, 22, ops::instance_normalization, {F}, {F}},
    {"IsInf", 10, 20, ops::is_inf, {F | Mini}, {B}},
    {"IsNaN", 9, 20, ops::is_nan, {F | Mini}, {B}},
    {"LRN", 1, 13, ops::lrn, {F}, {F}},
    {"LayerNormalization", 17, 17, ops::layer_normalization, {F}, {F}},
    {"LeakyRelu", 6, 16, ops::leaky_relu, {F}, {F}},
    {"Less", 7, 13, ops::less, {N}, {B}, k01},
    {"LessOrEqual", 12, 16, ops::less_or_equal, {N}, {B}, k01},
    {"Log", 6, 13, ops::log, {F}, {F}},
    {"LogSoftmax", 1, 13, ops::log_softmax, {F}, {F}},
    {"LpNormalization", 1, 22, ops::lp_normalization, {F}, {F}},
    {"LpPool", 2, 22, ops::lp_pool, {F}, {F}},
    {"MatMul", 1, 13, ops::matmul, {N}, {N}, k01},
    {"Max", 6, 13, ops::max, {N}, {N}, kAll},
    {"MaxPool", 1, 22, ops::max_pool, {F | set(OPTIMA_I8, OPTIMA_U8)}, {F | set(OPTIMA_I8, OPTIMA_U8), L}},
    {"MaxUnpool", 9, 22, ops::max_unpool, {F, L}, {F}},
    {"Mean", 6, 13, ops::mean, {F}, {F}, kAll},
    {"MeanVarianceNormalization", 9, 13, ops::mean_variance_normalization, {F}, {F}},
    {"Min", 6, 13, ops::min, {N}, {N}, kAll},
    {"Mish", 18, 22, ops::mish, {F}, {F}},
    {"Mod", 10, 28, ops::mod, {N}, {N}, k01},
    {"Mul", 7, 14, ops::mul, {N}, {N}, k01},
    {"Neg", 6, 13, ops::neg, {N}, {N}},
    {"NonZero", 9, 13, ops::non_zero, {C}, {L}},
    {"Not", 1, 1, ops::logical_not, {B}, {B}},
    {"OneHot", 9, 28, ops::one_hot, {N, N, A}, {A}},
    {"Or", 7, 7, ops::logical_or, {B}, {B}},
    {"PRelu", 7, 16, ops::prelu, {N}, {N}, k01},
    {"Pad", 2, 25, ops::pad, {A, L, A, Ix}, {A}, 5},
    {"Pow", 7, 15, ops::pow, {N}, {N}},
    {"RMSNormalization", 23, 23, ops::rms_normalization, {F}, {F}},
    {"Range", 11, 27, ops::range, {N}, {N}, kAll},
    {"Reciprocal", 6, 13, ops::reciprocal, {F}, {F}},
    {"Relu", 6, 14, ops::relu, {N}, {N}},
    {"Reshape", 5, 25, ops::reshape, {A, L}, {A}},
    {"ReverseSequence", 10, 28, ops::reverse_sequence, {A, L}, {A}},
    {"Round", 11, 22, ops::round, {F}, {F}},
    {"Scatter", 9, 11, ops::scatter_elements, {A, Ix, A}, {A}, 5},
    {"ScatterElements", 11, 18, ops::scatter_elements, {A, Ix, A}, {A}, 5},
    {"ScatterND", 11, 18, ops::scatter_nd, {A, L, A}, {A}, 5},
    {"Selu", 6, 22, ops::selu, {F}, {F}},
    {"Shape", 1, 25, ops::shape, {A}, {L}},
    {"Shrink", 9, 9, ops::shrink, {N}, {N}},
    {"Sigmoid", 6, 13, ops::sigmoid, {F}, {F}},
    {"Sign", 9, 13, ops::sign, {N}, {N}},
    {"Sin", 7, 22, ops::sin, {F}, {F}},
    {"Sinh", 9, 22, ops::sinh, {F}, {F}},
    {"Size", 1, 25, ops::size, {A}, {L}},
    {"Slice", 1, 13, ops::slice, {A, Ix}, {A}},
    {"Softmax", 1, 13, ops::softmax, {F}, {F}},
    {"Softplus", 1, 22, ops::softplus, {F}, {F}},
    {"Softsign", 1, 22, ops::softsign, {F}, {F}},
    {"SpaceToDepth", 1, 28, ops::space_to_depth, {A}, {A}},
    {"Split", 2, 18, ops::split, {A, L}, {A}},
    {"Sqrt", 6, 13, ops::sqrt, {F}, {F}},
    {"Squeeze", 1, 25, ops::squeeze, {A, L}, {A}},
    {"Sub", 7, 14, ops::sub, {N}, {N}, k01},
    {"Sum", 6, 13, ops::sum, {F}, {F}, kAll},
    {"Swish", 24, 24, ops::swish, {F}, {F}},
    {"Tan", 7, 22, ops::tan, {F}, {F}},
    {"Tanh", 6, 13, ops::tanh, {F}, {F}},
    {"TensorScatter", 24, 24, ops::tensor_scatter, {A, A, L}, {A}, k01},
    {"ThresholdedRelu", 10, 22, ops::thresholded_relu, {F}, {F}},
    {"Tile", 6, 13, ops::tile, {A, L}, {A}},
    {"Transpose", 1, 25, ops::transpose, {A}, {A}},
    {"Trilu", 14, 14, ops::trilu, {A & ~S, L}, {A & ~S}},
    {"Unsqueeze", 1, 25, ops::unsqueeze, {A, L}, {A}},
    {"Where", 9, 16, ops::where, {B, A, A}, {A}, k12},
    {"Xor", 7, 7, ops::logical_xor, {B}, {B}},
};

}  // namespace

Span<const Row> table() { return {kTable, std::size(kTable)}; }

const Row* find_row(const optima_image* image, const optima_node& node) {
  if (node.domain.size != 0) return nullptr;
  const std::string_view op = view(optima_string(image, &node.op_type));
  for (const Row& row : kTable)
    if (row.name == op && row.first <= node.since_version && node.since_version <= row.last) return &row;
  return nullptr;
}

}  // namespace optima::reference
