// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: element-wise operators. Every row chains: neighbours become one kernel.
#include <algorithm>
#include <cmath>
#include <limits>

#include "plugins/llvm_cpu/compiler/tail.hpp"
#include "plugins/llvm_cpu/lower/parts/chain.hpp"
#include "plugins/llvm_cpu/lower/parts/codes.hpp"
#include "plugins/llvm_cpu/lower/parts/ends.hpp"
#include "plugins/llvm_cpu/lower/parts/shapes.hpp"

namespace optima::llvm_cpu {
namespace {

using Id = Program::Id;
using Ids = std::vector<Id>;
/// Gives the value of output 0 from those of the inputs (absent ones are kNone).
using Emit = Id (*)(Chain&, const NodeView&, const Ids&);
constexpr Id kNone = UINT32_MAX;

constexpr Types kReal = types(OPTIMA_F32, OPTIMA_F16, OPTIMA_BF16);
constexpr Types kWhole = types(OPTIMA_I8, OPTIMA_I16, OPTIMA_I32, OPTIMA_I64, OPTIMA_U8, OPTIMA_U16, OPTIMA_U32, OPTIMA_U64);
constexpr Types kBoolean = types(OPTIMA_BOOL);
constexpr Types kNumber = kReal | kWhole | types(OPTIMA_F64);
constexpr Types kAll = kNumber | kBoolean;
constexpr Types kSigned = kReal | types(OPTIMA_F64, OPTIMA_I8, OPTIMA_I16, OPTIMA_I32, OPTIMA_I64);
constexpr Types kUnsigned = types(OPTIMA_U8, OPTIMA_U16, OPTIMA_U32, OPTIMA_U64);
constexpr Types kCodes = types(OPTIMA_I8, OPTIMA_U8, OPTIMA_I16, OPTIMA_U16);

// ---- shorthands

struct Maker {
  Program& p;
  int32_t type;
  Id num(double v) const { return p.constant(type, v); }
  Id operator()(Operation o, Id a) const { return p.apply(o, {a}); }
  Id operator()(Operation o, Id a, Id b) const { return p.apply(o, {a, b}); }
  Id where(Id c, Id a, Id b) const { return p.apply("where"_op, {c, a, b}); }
};
Maker maker(Chain& c, Id like) { return {c.program(), c.program().dtype(like)}; }

/// x where x >= 0, else `below`.
Id unless_negative(const Maker& m, Id x, Id below) { return m.where(m("lt"_op, x, m.num(0)), below, x); }
Id limited(const Maker& m, Id x, double lo, double hi) { return m("atmost"_op, m.num(hi), m("atleast"_op, m.num(lo), x)); }

// ---- operators that are one operation

Operation operation_of(const NodeView& n);
Id simple(Chain& c, const NodeView& n, const Ids& in) { return c.program().apply(operation_of(n), in); }

/// Any number of operands, joined from the left.
Id variadic(Chain& c, const NodeView& n, const Ids& in) {
  Id sum = in[0];
  for (size_t k = 1; k < in.size(); ++k) sum = c.program().apply(operation_of(n), {sum, in[k]});
  return sum;
}
Id mean(Chain& c, const NodeView& n, const Ids& in) {
  const Id sum = variadic(c, n, in);
  const Maker m = maker(c, sum);
  return m("mul"_op, sum, m.num(1.0 / static_cast<double>(in.size())));
}

// ---- activations

Id relu(Chain& c, const NodeView&, const Ids& in) {
  const Maker m = maker(c, in[0]);
  return m("atleast"_op, m.num(0), in[0]);
}
Id leaky(Chain& c, const NodeView& n, const Ids& in) {
  const Maker m = maker(c, in[0]);
  return unless_negative(m, in[0], m("mul"_op, in[0], m.num(n.real("alpha", 0.01f))));
}
Id prelu(Chain& c, const NodeView&, const Ids& in) {
  const Maker m = maker(c, in[0]);
  return unless_negative(m, in[0], m("mul"_op, in[0], in[1]));
}
Id elu(Chain& c, const NodeView& n, const Ids& in) {
  const Maker m = maker(c, in[0]);
  return unless_negative(m, in[0], m("mul"_op, m("expm1"_op, in[0]), m.num(n.real("alpha", 1))));
}
Id celu(Chain& c, const NodeView& n, const Ids& in) {
  const Maker m = maker(c, in[0]);
  const float alpha = n.real("alpha", 1);
  return unless_negative(m, in[0], m("mul"_op, m("expm1"_op, m("div"_op, in[0], m.num(alpha))), m.num(alpha)));
}
Id selu(Chain& c, const NodeView& n, const Ids& in) {
  const Maker m = maker(c, in[0]);
  const Id below = m("mul"_op, m("expm1"_op, in[0]), m.num(n.real("alpha", 1.67326319f)));
  return m("mul"_op, unless_negative(m, in[0], below), m.num(n.real("gamma", 1.05070102f)));
}
Id thresholded(Chain& c, const NodeView& n, const Ids& in) {
  const Maker m = maker(c, in[0]);
  return m.where(m("gt"_op, in[0], m.num(n.real("alpha", 1))), in[0], m.num(0));
}
Id hard_sigmoid(Chain& c, const NodeView& n, const Ids& in) {
  const Maker m = maker(c, in[0]);
  return limited(m, m("add"_op, m("mul"_op, in[0], m.num(n.real("alpha", 0.2f))), m.num(n.real("beta", 0.5f))), 0, 1);
}
Id hard_swish(Chain& c, const NodeView&, const Ids& in) {
  const Maker m = maker(c, in[0]);
  return m("mul"_op, in[0], limited(m, m("add"_op, m("mul"_op, in[0], m.num(1.0 / 6)), m.num(0.5)), 0, 1));
}
Id swish(Chain& c, const NodeView& n, const Ids& in) {
  const Maker m = maker(c, in[0]);
  return m("mul"_op, in[0], m("sigmoid"_op, m("mul"_op, in[0], m.num(n.real("alpha", 1)))));
}
Id softsign(Chain& c, const NodeView&, const Ids& in) {
  const Maker m = maker(c, in[0]);
  return m("div"_op, in[0], m("add"_op, m.num(1), m("abs"_op, in[0])));
}
Id gelu(Chain& c, const NodeView& n, const Ids& in) {
  return maker(c, in[0])(n.text("approximate", "none") == "tanh" ? "gelu_tanh"_op : "gelu"_op, in[0]);
}
Id shrink(Chain& c, const NodeView& n, const Ids& in) {
  const Maker m = maker(c, in[0]);
  const double bias = n.real("bias", 0), lambda = n.real("lambd", 0.5f);
  const Id low = m.where(m("lt"_op, in[0], m.num(-lambda)), m("add"_op, in[0], m.num(bias)), m.num(0));
  return m.where(m("gt"_op, in[0], m.num(lambda)), m("sub"_op, in[0], m.num(bias)), low);
}
Id clip(Chain& c, const NodeView& n, const Ids& in) {
  const Maker m = maker(c, in[0]);
  Id v = in[0];
  const float inf = std::numeric_limits<float>::infinity();
  if (n.since() < 11) return limited(m, v, n.real("min", -inf), n.real("max", inf));
  if (in.size() > 1 && in[1] != kNone) v = m("atleast"_op, in[1], v);
  if (in.size() > 2 && in[2] != kNone) v = m("atmost"_op, in[2], v);
  return v;
}

// ---- arithmetic with a twist

Id reciprocal(Chain& c, const NodeView&, const Ids& in) {
  const Maker m = maker(c, in[0]);
  return m("div"_op, m.num(1), in[0]);
}
Id mod(Chain& c, const NodeView& n, const Ids& in) {
  const int32_t type = c.program().dtype(in[0]);
  const bool real = kReal >> type & 1;
  return c.program().apply(real || !n.integer("fmod", 0) ? "mod"_op : "rem"_op, in);
}
Id shift(Chain& c, const NodeView& n, const Ids& in) { return c.program().apply(n.text("direction", "") == "LEFT" ? "shl"_op : "shr"_op, in); }

constexpr int64_t kMostExponent = 1000000000;
/// The exponent when it is a number that was folded into the graph.
std::optional<double> exponent(const NodeView& n) {
  if (n.graph.is_constant(n.input(1)) && count(n.in_dims(1)) == 1) {
    if (const auto f = n.graph.floats(n.input(1))) return (*f)[0];
    const auto i = n.graph.integers(n.input(1));
    if (i && (*i)[0] > -kMostExponent && (*i)[0] < kMostExponent) return static_cast<double>((*i)[0]);
  }
  return std::nullopt;
}
/// To a whole number in 64 bits, which wraps; to any other one in double.
Id integer_power(Chain& c, const Ids& in, std::optional<double> e) {
  Program& p = c.program();
  const bool whole = e ? *e == std::floor(*e) && std::fabs(*e) < kMostExponent : (kWhole >> p.dtype(in[1]) & 1) != 0;
  const bool negative = e || (kSigned >> p.dtype(in[1]) & 1);
  const int32_t type = !whole ? OPTIMA_F64 : negative ? OPTIMA_I64 : OPTIMA_U64;
  return p.apply("pow"_op, {p.cast(type, in[0]), e ? p.constant(type, *e) : p.cast(type, in[1])});
}
Id power(Chain& c, const NodeView& n, const Ids& in) {
  Program& p = c.program();
  const int32_t type = p.dtype(in[0]);
  const Maker m = maker(c, in[0]);
  const auto e = exponent(n);
  if (e == 0.0) return m.num(1);
  if (e == 1.0) return in[0];
  if (e == 2.0) return m("mul"_op, in[0], in[0]);
  if (e == 3.0) return m("mul"_op, m("mul"_op, in[0], in[0]), in[0]);
  const bool real = kReal >> type & 1;
  if (!real) return p.cast(type, integer_power(c, in, e));
  if (e == 0.5) return m("sqrt"_op, in[0]);
  if (e == -1.0) return m("div"_op, m.num(1), in[0]);
  if (e == -0.5) return m("div"_op, m.num(1), m("sqrt"_op, in[0]));
  const Id by = e ? p.constant(OPTIMA_F32, *e) : p.cast(OPTIMA_F32, in[1]);
  return p.cast(type, p.apply("pow"_op, {p.cast(OPTIMA_F32, in[0]), by}));
}
Id is_infinite(Chain& c, const NodeView& n, const Ids& in) {
  const Maker m = maker(c, in[0]);
  const double inf = std::numeric_limits<double>::infinity();
  const Id above = m("eq"_op, in[0], m.num(inf)), below = m("eq"_op, in[0], m.num(-inf));
  const bool positive = n.integer("detect_positive", 1), negative = n.integer("detect_negative", 1);
  if (positive && negative) return m("or"_op, above, below);
  return positive ? above : negative ? below : m("and"_op, above, below);
}

// ---- types

/// To a 16-bit float: rounded to it, and held as f32.
Id cast(Chain& c, const NodeView& n, const Ids& in) {
  Program& p = c.program();
  return p.cast(n.out_dtype(0), p.cast(n.graph.stored_dtype(n.output(0)), in[0]));
}
Id same(Chain&, const NodeView&, const Ids& in) { return in[0]; }

size_t axis_of(const NodeView& n) {
  const int64_t axis = n.integer("axis", 1), rank = static_cast<int64_t>(n.in_dims(0).size());
  return static_cast<size_t>(axis < 0 ? axis + rank : axis);
}
/// The axis as the whole chain counts it.
size_t axis_in(Chain& c, const NodeView& n, int axis) { return axis < 0 ? 0 : static_cast<size_t>(axis) + c.dims().size() - n.in_dims(0).size(); }
std::vector<float> as_floats(const std::vector<int32_t>& numbers) { return {numbers.begin(), numbers.end()}; }
bool is_zero(const std::vector<int32_t>& numbers) { return std::all_of(numbers.begin(), numbers.end(), [](int32_t z) { return z == 0; }); }

/// Scale and zero point, computed or constant.
Id scale_of(Chain& c, const NodeView& n) { return c.along(n.input(1), axis_of(n)); }

Id dequantize_computed(Chain& c, const NodeView& n, Id x) {
  Program& p = c.program();
  if (n.has_input(2)) {
    const int32_t exact = n.in_dtype(0) == OPTIMA_I32 ? OPTIMA_I64 : OPTIMA_F32;  // as a float, I32 would lose its low bits
    x = p.apply("sub"_op, {p.cast(exact, x), p.cast(exact, c.along(n.input(2), axis_of(n)))});
  }
  return p.apply("mul"_op, {p.cast(OPTIMA_F32, x), scale_of(c, n)});
}
Id dequantize(Chain& c, const NodeView& n, const Ids& in) {
  const auto codes = codes_of(n);
  Program& p = c.program();
  p.be_strict();
  if (!codes || codes->block || (n.in_dtype(0) == OPTIMA_I32 && !is_zero(codes->zero))) return dequantize_computed(c, n, in[0]);
  const size_t axis = axis_in(c, n, codes->axis);
  Id x = p.cast(OPTIMA_F32, in[0]);
  if (!is_zero(codes->zero)) x = p.apply("sub"_op, {x, c.numbers(as_floats(codes->zero), axis)});
  return p.apply("mul"_op, {x, c.numbers(codes->scale, axis)});
}

/// x / scale: by the inverse, and once more by what that left, which rounds as a division does (Markstein, IBM J. Res. Dev. 34, 1990). The
/// limits keep infinities out of the difference.
Id divided(Chain& c, Id x, const std::vector<float>& scale, size_t axis) {
  const Maker m = maker(c, x);
  if (!have_inverses(scale)) return m("div"_op, x, c.numbers(scale, axis));
  std::vector<float> inverse, negative;
  for (const float s : scale) inverse.push_back(static_cast<float>(1 / static_cast<double>(s))), negative.push_back(-s);
  const Id by = c.numbers(inverse, axis), q = limited(m, m("mul"_op, x, by), -0x1p24, 0x1p24);
  const Id left = c.program().apply("fma"_op, {q, c.numbers(negative, axis), x});
  return c.program().apply("fma"_op, {left, by, q});
}
Id quantize(Chain& c, const NodeView& n, const Ids& in) {
  Program& p = c.program();
  p.be_strict();
  const auto codes = codes_of(n);
  Id x = codes ? divided(c, in[0], codes->scale, axis_in(c, n, codes->axis)) : p.apply("div"_op, {in[0], scale_of(c, n)});
  p.end_operator(x);  // the quotient is a float before it becomes an integer
  x = p.apply("round"_op, {x});
  if (codes && !is_zero(codes->zero)) x = p.apply("add"_op, {x, c.numbers(as_floats(codes->zero), axis_in(c, n, codes->axis))});
  else if (!codes && n.has_input(2)) x = p.apply("add"_op, {x, p.cast(OPTIMA_F32, c.along(n.input(2), axis_of(n)))});
  const int32_t to = n.out_dtype(0);
  // NaN becomes the smallest code, and 0 by the cast alone.
  if (to == OPTIMA_I8 || to == OPTIMA_I16) x = p.apply("atleast"_op, {x, p.constant(OPTIMA_F32, to == OPTIMA_I8 ? -128 : -32768)});
  return p.cast(to, x);
}

/// x * factor + shift with constants folded in double.
Id batch_norm(Chain& c, const NodeView& n, const Ids& in) {
  const auto scale = *n.graph.floats(n.input(1)), bias = *n.graph.floats(n.input(2)), mean = *n.graph.floats(n.input(3)),
             var = *n.graph.floats(n.input(4));
  std::vector<float> factor, shift;
  for (size_t i = 0; i < scale.size(); ++i) {
    const double f = scale[i] / std::sqrt(double(var[i]) + n.real("epsilon", 1e-5f));
    factor.push_back(static_cast<float>(f));
    shift.push_back(static_cast<float>(bias[i] - mean[i] * f));
  }
  Program& p = c.program();
  return p.apply("add"_op, {p.apply("mul"_op, {in[0], c.along(factor, 1)}), c.along(shift, 1)});
}

// ---- refusals

Refusal only_output(const NodeView& n) {
  for (uint32_t k = 1; k < n.output_count(); ++k)
    if (n.has_output(k)) return {OPTIMA_REASON_OTHER, "output " + std::to_string(k), "used", "absent"};
  return {};
}
/// One value per channel.
Refusal check_channels(const NodeView& n) {
  for (uint32_t k = 1; k < 5; ++k)
    if (n.in_dims(0).size() < 2 || count(n.in_dims(k)) != n.in_dims(0)[1]) return wrong_shape(n, k, "one value per channel");
  return {};
}

Refusal check_batch_norm(const NodeView& n) {
  if (n.integer("training_mode", 0)) return {OPTIMA_REASON_ATTRIBUTE, "training_mode", "1", "0"};
  if (const Refusal r = check_channels(n)) return r;
  return only_output(n);
}
Refusal check_dropout(const NodeView& n) {
  if (n.has_input(2)) return {OPTIMA_REASON_OTHER, "input 2", "given", "absent: dropout is for training"};
  return only_output(n);
}
/// Scale and zero point of one element, or along one axis.
Refusal check_quantization(const NodeView& n) {
  if (n.integer("block_size", 0)) return {OPTIMA_REASON_ATTRIBUTE, "block_size", std::to_string(n.integer("block_size", 0)), "0"};
  for (uint32_t k = 1; k < 3; ++k)
    if (n.has_input(k) && n.in_dims(k).size() > 1) return {OPTIMA_REASON_RANK, "input " + std::to_string(k), to_text(n.in_dims(k)), "rank 0 or 1"};
  if (n.has_input(2) && count(n.in_dims(2)) != count(n.in_dims(1))) return wrong_shape(n, 2, "as many elements as input 1");
  if (count(n.in_dims(1)) == 1) return {};
  if (const Refusal r = check_axis(n.integer("axis", 1), n.in_dims(0).size())) return r;
  return count(n.in_dims(1)) == n.in_dims(0)[axis_of(n)] ? Refusal() : wrong_shape(n, 1, "one value per index of the axis");
}
Refusal check_shift(const NodeView& n) {
  const std::string_view direction = n.text("direction", "");
  return direction == "LEFT" || direction == "RIGHT" ? Refusal() : Refusal{OPTIMA_REASON_ATTRIBUTE, "direction", std::string(direction), "LEFT or RIGHT"};
}
/// Bounds are one element; those of old versions are attributes of floats.
Refusal check_clip(const NodeView& n) {
  for (uint32_t k = 1; k < 3; ++k)
    if (n.has_input(k) && count(n.in_dims(k)) != 1) return wrong_shape(n, k, "one element");
  const bool real = kReal >> n.in_dtype(0) & 1;
  return n.since() >= 11 || real ? Refusal() : Refusal{OPTIMA_REASON_DTYPE, "input 0", sdk::dtype_name(n.in_dtype(0)), "a float in this version"};
}
Refusal check_gelu(const NodeView& n) {
  const std::string_view how = n.text("approximate", "none");
  return how == "none" || how == "tanh" ? Refusal() : Refusal{OPTIMA_REASON_ATTRIBUTE, "approximate", std::string(how), "none or tanh"};
}
Refusal check_mod(const NodeView& n) {
  const bool real = kReal >> n.in_dtype(0) & 1;
  if (real && !n.integer("fmod", 0)) return {OPTIMA_REASON_ATTRIBUTE, "fmod", "0", "1 for floats"};
  return {};
}

// ---- the table

struct Row {
  std::string_view op;
  std::array<Types, 4> in;
  std::array<Types, 4> out;
  Emit emit;
  int32_t since_min = 1;
  Signature operands{};
  Refusal (*check)(const NodeView&) = nullptr;
  uint32_t const_inputs = 0;
  Operation operation{};  ///< of simple() and the like
};
Row unary(std::string_view op, Types types, Operation o, int32_t since) { return {op, {types}, {types}, simple, since, {}, nullptr, 0, o}; }
Row binary(std::string_view op, Types types, Operation o, int32_t since) { return {op, {types}, {types}, simple, since, {2, 2, kBoth}, nullptr, 0, o}; }
Row comparison(std::string_view op, Operation o, int32_t since) { return {op, {kNumber}, {kBoolean}, simple, since, {2, 2, kPair}, nullptr, 0, o}; }
Row joined(std::string_view op, Types types, Emit emit, Operation o) {
  return {op, {types}, {types}, emit, 8, {1, kMany, kInputs | out_bit(0)}, nullptr, 0, o};
}

const Row kTable[] = {
    unary("Abs", kNumber, "abs"_op, 6), unary("Neg", kSigned, "neg"_op, 6), unary("Sign", kNumber, "sign"_op, 9),
    unary("Sqrt", kReal, "sqrt"_op, 6), unary("Floor", kReal, "floor"_op, 6), unary("Ceil", kReal, "ceil"_op, 6),
    unary("Round", kReal, "round"_op, 11), unary("Exp", kReal, "exp"_op, 6), unary("Log", kReal, "log"_op, 6), unary("Tanh", kReal, "tanh"_op, 6),
    unary("Sigmoid", kReal, "sigmoid"_op, 6), unary("Erf", kReal, "erf"_op, 9), unary("Softplus", kReal, "softplus"_op, 1),
    unary("Sin", kReal, "sin"_op, 7), unary("Cos", kReal, "cos"_op, 7), unary("Tan", kReal, "tan"_op, 7), unary("Asin", kReal, "asin"_op, 7),
    unary("Acos", kReal, "acos"_op, 7), unary("Atan", kReal, "atan"_op, 7), unary("Sinh", kReal, "sinh"_op, 9), unary("Cosh", kReal, "cosh"_op, 9),
    unary("Asinh", kReal, "asinh"_op, 9), unary("Acosh", kReal, "acosh"_op, 9), unary("Atanh", kReal, "atanh"_op, 9),
    unary("Not", kBoolean, "not"_op, 1), unary("BitwiseNot", kWhole, "not"_op, 18), unary("Mish", kReal, "mish"_op, 18),
    {"IsNaN", {kReal}, {kBoolean}, simple, 9, {1, 1, 0}, nullptr, 0, "isnan"_op}, {"IsInf", {kReal}, {kBoolean}, is_infinite, 10, {1, 1, 0}},
    binary("Add", kNumber, "add"_op, 7), binary("Sub", kNumber, "sub"_op, 7), binary("Mul", kNumber, "mul"_op, 7),
    binary("Div", kNumber, "div"_op, 7), {"Mod", {kReal | kWhole}, {kReal | kWhole}, mod, 10, {2, 2, kBoth}, check_mod},
    binary("And", kBoolean, "and"_op, 7), binary("Or", kBoolean, "or"_op, 7), binary("Xor", kBoolean, "xor"_op, 7),
    binary("BitwiseAnd", kWhole, "and"_op, 18), binary("BitwiseOr", kWhole, "or"_op, 18), binary("BitwiseXor", kWhole, "xor"_op, 18),
    {"BitShift", {kUnsigned}, {kUnsigned}, shift, 11, {2, 2, kBoth}, check_shift}, comparison("Equal", "eq"_op, 7), comparison("Less", "lt"_op, 7),
    comparison("LessOrEqual", "le"_op, 12), comparison("Greater", "gt"_op, 7), comparison("GreaterOrEqual", "ge"_op, 12),
    {"Where", {kBoolean, kAll}, {kAll}, simple, 9, {3, 3, in_bit(1) | in_bit(2) | out_bit(0)}, nullptr, 0, "where"_op},
    joined("Max", kNumber, variadic, "max"_op), joined("Min", kNumber, variadic, "min"_op), joined("Sum", kReal, variadic, "add"_op),
    joined("Mean", kReal, mean, "add"_op), {"Relu", {kNumber}, {kNumber}, relu, 6}, {"LeakyRelu", {kReal}, {kReal}, leaky, 6},
    {"PRelu", {kReal}, {kReal}, prelu, 7, {2, 2, kBoth}}, {"Elu", {kReal}, {kReal}, elu, 6}, {"Celu", {kReal}, {kReal}, celu, 12},
    {"Selu", {kReal}, {kReal}, selu, 6}, {"ThresholdedRelu", {kReal}, {kReal}, thresholded, 10}, {"HardSigmoid", {kReal}, {kReal}, hard_sigmoid, 6},
    {"HardSwish", {kReal}, {kReal}, hard_swish, 14}, {"Swish", {kReal}, {kReal}, swish, 24}, {"Softsign", {kReal}, {kReal}, softsign, 1},
    {"Gelu", {kReal}, {kReal}, gelu, 20, {}, check_gelu}, {"Shrink", {kReal}, {kReal}, shrink, 9},
    {"Clip", {kNumber}, {kNumber}, clip, 6, {1, 3, kInputs | out_bit(0)}, check_clip}, {"Reciprocal", {kReal}, {kReal}, reciprocal, 6},
    {"Pow", {kReal | kWhole, kReal | kWhole}, {kReal | kWhole}, power, 7, {2, 2}}, {"Cast", {kAll}, {kAll}, cast, 6, {1, 1, 0}},
    {"CastLike", {kAll, kAll}, {kAll}, cast, 15, {2, 2, in_bit(1) | out_bit(0)}},
    {"Dropout", {kReal, kAll, kAll}, {kReal}, same, 7, {1, 3, kThrough, 2}, check_dropout},
    {"DequantizeLinear", {kCodes | types(OPTIMA_I32), kFloat, kCodes | types(OPTIMA_I32)}, {kFloat}, dequantize, 10, {2, 3, in_bit(0) | in_bit(2)}, check_quantization},
    {"QuantizeLinear", {kFloat, kFloat, kCodes}, {kCodes}, quantize, 10, {2, 3, in_bit(2) | out_bit(0)}, check_quantization},
    {"BatchNormalization", {kFloat}, {kFloat}, batch_norm, 7, {5, 5, kInputs | kOutputs, 5}, check_batch_norm, 0b11110},
};

const Row& row_of(const NodeView& n) {
  return *std::find_if(std::begin(kTable), std::end(kTable), [&](const Row& r) { return r.op == n.op(); });
}

Operation operation_of(const NodeView& n) { return row_of(n).operation; }

/// Inputs that a node's emitter reads by itself.
bool reads_itself(const NodeView& n, uint32_t k) {
  const std::string_view op = n.op();
  if (op == "BatchNormalization" || op == "QuantizeLinear" || op == "DequantizeLinear" || op == "CastLike" || op == "Dropout") return k > 0;
  return op == "Pow" && k == 1 && exponent(n).has_value();
}

/// Operands that broadcast to the result and to nothing smaller, then what the operator itself asks.
Refusal check_operands(const NodeView& n) {
  const Dims out = n.out_dims(0);
  Dims joined;
  for (uint32_t k = 0; k < n.input_count(); ++k) {
    if (!n.has_input(k) || (reads_itself(n, k) && n.op() != "Pow")) continue;
    const Dims in = n.in_dims(k);
    if (!broadcasts(in, out)) return wrong_shape(n, k, "broadcastable to " + to_text(out));
    if (in.size() > joined.size()) joined.insert(joined.begin(), in.size() - joined.size(), 1);
    for (size_t d = 1; d <= in.size(); ++d)
      if (in[in.size() - d] != 1) joined[joined.size() - d] = in[in.size() - d];
  }
  if (joined != out) return {OPTIMA_REASON_OTHER, "output 0", to_text(out), to_text(joined) + ", to which the inputs broadcast"};
  const auto own = row_of(n).check;
  return own ? own(n) : Refusal();
}

void lower_chain(std::span<const NodeView> nodes, LowerContext& context) {
  const NodeView& first = nodes[0];
  if (nodes.size() == 1 && first.op() == "Cast" && first.in_dtype(0) == OPTIMA_F32 && context.rounded_by_readers(first.output(0)))
    return context.rename(first.output(0), first.input(0));
  Chain chain(nodes, context);
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (const auto x = gelu_of(nodes.subspan(i))) {
      i += kGeluNodes - 1;
      const Id made = chain.program().apply("gelu"_op, {chain.value(*x)});
      chain.program().end_operator(made);
      chain.make(nodes[i].output(0), made);
      continue;
    }
    const NodeView& n = nodes[i];
    Ids in;
    for (uint32_t k = 0; k < n.input_count(); ++k)
      in.push_back(!n.has_input(k) || reads_itself(n, k) ? kNone : chain.value(n.input(k)));
    const Id made = row_of(n).emit(chain, n, in);
    chain.program().end_operator(made);
    chain.make(n.output(0), made);
  }
  chain.finish(nodes.back().output(0));
}

/// Codes for a product come channels last at once; else as any chain.
void lower_late(const NodeView& n, Layout layout, LowerContext& context) {
  if (!lower_end(n, layout, context)) lower_chain({&n, 1}, context);
}

}  // namespace

Family elementwise_family() {
  static const std::vector<Lowering> rows = [] {
    std::vector<Lowering> out;
    for (const Row& r : kTable) {
      Lowering row;
      row.op = r.op, row.since_min = r.since_min, row.since_max = 25;
      row.in = r.in, row.out = r.out;
      row.const_inputs = r.const_inputs, row.operands = r.operands, row.check = check_operands;
      row.lower = lower_chain, row.chains = true, row.reads_itself = reads_itself;
      if (r.op == "QuantizeLinear" || r.op == "DequantizeLinear") row.is_late = is_end, row.lower_late = lower_late;
      out.push_back(row);
    }
    return out;
  }();
  return rows;
}

}  // namespace optima::llvm_cpu
