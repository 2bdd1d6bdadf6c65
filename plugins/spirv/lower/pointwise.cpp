// SPDX-License-Identifier: Apache-2.0
// Operators whose every element depends on one element of each operand. Semantics: the ONNX operator reference.
#include "compiler/lowering.hpp"

namespace spirv_plugin {
namespace of_pointwise {

using In = std::vector<std::string>;

bool is_float(const sdk::Node& n) { return kFloats >> n.input(0).dtype() & 1; }
std::string real(const sdk::Node& n, const char* name, double otherwise) { return literal(n.real(name, otherwise)); }
std::string call(const char* f, const In& in) { return std::string(f) + "(" + in[0] + ")"; }

#define OPTIMA_UNARY(NAME, FUNCTION) \
  std::string NAME(const sdk::Node&, const In& in) { return call(FUNCTION, in); }
OPTIMA_UNARY(relu, "relu_")
OPTIMA_UNARY(exp_of, "exp")
OPTIMA_UNARY(log_of, "log")
OPTIMA_UNARY(sqrt_of, "sqrt")
OPTIMA_UNARY(floor_of, "floor")
OPTIMA_UNARY(ceil_of, "ceil")
OPTIMA_UNARY(round_of, "roundEven")
OPTIMA_UNARY(tanh_of, "tanh_")
OPTIMA_UNARY(sigmoid_of, "sigmoid_")
OPTIMA_UNARY(erf_of, "erf_")
OPTIMA_UNARY(softplus_of, "softplus_")
OPTIMA_UNARY(sin_of, "sin_")
OPTIMA_UNARY(cos_of, "cos_")
OPTIMA_UNARY(asin_of, "asin_")
OPTIMA_UNARY(acos_of, "acos_")
OPTIMA_UNARY(atan_of, "atan_")
OPTIMA_UNARY(sinh_of, "sinh_")
OPTIMA_UNARY(cosh_of, "cosh_")
OPTIMA_UNARY(asinh_of, "asinh_")
OPTIMA_UNARY(acosh_of, "acosh_")
OPTIMA_UNARY(atanh_of, "atanh_")
#undef OPTIMA_UNARY

bool is_long(const sdk::Value& v) { return v.dtype() == OPTIMA_I64; }
std::string abs_of(const sdk::Node& n, const In& in) { return is_long(n.input(0)) ? "(" + in[0] + "<0?neg64_(" + in[0] + "):" + in[0] + ")" : call("abs", in); }
std::string neg(const sdk::Node& n, const In& in) { return is_long(n.output(0)) ? "neg64_(" + in[0] + ")" : wrapped(n.output(0).dtype(), "(-" + in[0] + ")"); }
std::string reciprocal(const sdk::Node&, const In& in) { return "(1.0/" + in[0] + ")"; }
std::string tan_of(const sdk::Node&, const In& in) { return "(sin_(" + in[0] + ")/cos_(" + in[0] + "))"; }
std::string sign(const sdk::Node& n, const In& in) { return is_float(n) ? "(nan_(" + in[0] + ")?" + in[0] + ":sign(" + in[0] + "))" : call("sign", in); }
std::string softsign(const sdk::Node&, const In& in) { return "(" + in[0] + "/(1.0+abs(" + in[0] + ")))"; }
std::string is_nan(const sdk::Node&, const In& in) { return "(nan_(" + in[0] + ")?1:0)"; }
std::string is_inf(const sdk::Node& n, const In& in) {
  const std::string up = n.integer("detect_positive", 1) ? "true" : "false", down = n.integer("detect_negative", 1) ? "true" : "false";
  return "(inf_(" + in[0] + ")&&(" + in[0] + ">0.0?" + up + ":" + down + ")?1:0)";
}
std::string leaky_relu(const sdk::Node& n, const In& in) { return "(" + in[0] + "<0.0?" + in[0] + "*" + real(n, "alpha", 0.01) + ":" + in[0] + ")"; }
std::string prelu(const sdk::Node& n, const In& in) { return "(" + in[0] + "<" + (is_float(n) ? "0.0?" : "0?") + in[0] + "*" + in[1] + ":" + in[0] + ")"; }
std::string elu(const sdk::Node& n, const In& in) { return "(" + in[0] + "<0.0?" + real(n, "alpha", 1) + "*expm1_(" + in[0] + "):" + in[0] + ")"; }
std::string celu(const sdk::Node& n, const In& in) {
  const std::string a = real(n, "alpha", 1);
  return "(" + in[0] + "<0.0?" + a + "*expm1_(" + in[0] + "/" + a + "):" + in[0] + ")";
}
std::string selu(const sdk::Node& n, const In& in) {
  const double alpha = n.real("alpha", 1.67326319217681884765625), gamma = n.real("gamma", 1.05070102214813232421875);
  return "(" + in[0] + "<=0.0?" + literal(gamma * alpha) + "*expm1_(" + in[0] + "):" + literal(gamma) + "*" + in[0] + ")";
}
std::string thresholded(const sdk::Node& n, const In& in) { return "(" + in[0] + ">" + real(n, "alpha", 1) + "?" + in[0] + ":0.0)"; }
std::string hard_sigmoid(const sdk::Node& n, const In& in) { return "min_(max_(" + real(n, "alpha", 0.2) + "*" + in[0] + "+" + real(n, "beta", 0.5) + ",0.0),1.0)"; }
std::string hard_swish(const sdk::Node&, const In& in) { return "(" + in[0] + "*clamp(" + in[0] + "/6.0+0.5,0.0,1.0))"; }
std::string mish(const sdk::Node&, const In& in) { return "(" + in[0] + "*tanh_(softplus_(" + in[0] + ")))"; }
std::string swish(const sdk::Node& n, const In& in) { return "(" + in[0] + "*sigmoid_(" + real(n, "alpha", 1) + "*" + in[0] + "))"; }
std::string swiglu(const sdk::Node& n, const In& in) { return "(" + swish(n, in) + "*" + in[1] + ")"; }
std::string gelu(const sdk::Node& n, const In& in) {
  if (n.string("approximate", "none") == "tanh") return "(0.5*" + in[0] + "*(1.0+tanh_(0.797884561*(" + in[0] + "+0.044715*" + in[0] + "*" + in[0] + "*" + in[0] + "))))";
  return "(0.5*" + in[0] + "*(1.0+erf_(" + in[0] + "*0.707106781)))";
}
std::string shrink(const sdk::Node& n, const In& in) {
  const std::string b = real(n, "bias", 0), l = literal(n.real("lambd", 0.5));
  return "(" + in[0] + "<-" + l + "?" + in[0] + "+" + b + ":" + in[0] + ">" + l + "?" + in[0] + "-" + b + ":0.0)";
}

/// Limits are attributes before version 11, inputs from there on; a limit that is absent is none.
std::string clip(const sdk::Node& n, const In& in) {
  const bool old = n.since_version() < 11;
  std::string low = old ? real(n, "min", -3.4028234663852886e38) : in.size() > 1 ? in[1] : "", high = old ? real(n, "max", 3.4028234663852886e38) : in.size() > 2 ? in[2] : "";
  std::string v = in[0];
  if (!low.empty()) v = "max_(" + v + "," + low + ")";
  if (!high.empty()) v = "min_(" + v + "," + high + ")";
  return v;
}

std::string addition(const sdk::Node& n, const In& in) { return sum_of(n.output(0).dtype(), in[0], in[1]); }
std::string subtraction(const sdk::Node& n, const In& in) { return difference_of(n.output(0).dtype(), in[0], in[1]); }
std::string multiplication(const sdk::Node& n, const In& in) { return product_of(n.output(0).dtype(), in[0], in[1]); }
std::string division(const sdk::Node& n, const In& in) { return is_float(n) ? "(" + in[0] + "/" + in[1] + ")" : (is_long(n.output(0)) ? "div64_(" : "idiv_(") + in[0] + "," + in[1] + ")"; }
/// Without fmod remainders have the divisor's sign, as version 28 says; models of it may be
/// restated in an older one.
std::string modulo(const sdk::Node& n, const In& in) {
  const bool c = n.integer("fmod", 0) != 0;
  return std::string(is_float(n) ? (c ? "fmod_(" : "floormod_(") : is_long(n.output(0)) ? (c ? "fmod64_(" : "mod64_(") : c ? "ifmod_(" : "imod_(") + in[0] + "," + in[1] + ")";
}
std::string power(const sdk::Node& n, const In& in) {
  const bool whole_base = !is_float(n), whole_exponent = !(kFloats >> n.input(1).dtype() & 1);
  if (whole_base && whole_exponent && is_long(n.output(0))) return "pow64_(" + in[0] + "," + in[1] + ")";
  if (whole_base && whole_exponent) return wrapped(n.output(0).dtype(), "ipow_(" + in[0] + "," + in[1] + ")");
  const std::string v = "pow_(float(" + in[0] + "),float(" + in[1] + "))";
  return whole_base ? "int_(" + v + ")" : v;
}
/// Max, Min, Sum and Mean of any number of operands.
std::string larger(const std::string& a, const std::string& b) { return "max_(" + a + "," + b + ")"; }
std::string smaller(const std::string& a, const std::string& b) { return "min_(" + a + "," + b + ")"; }
std::string added(const std::string& a, const std::string& b) { return a + "+" + b; }
std::string joined(const In& in, std::string (*join)(const std::string&, const std::string&)) {
  std::string v = in[0];
  for (size_t k = 1; k < in.size(); ++k) v = join(v, in[k]);
  return v;
}
std::string largest(const sdk::Node&, const In& in) { return joined(in, larger); }
std::string smallest(const sdk::Node&, const In& in) { return joined(in, smaller); }
std::string sum(const sdk::Node&, const In& in) { return "(" + joined(in, added) + ")"; }
std::string mean(const sdk::Node& n, const In& in) { return "(" + sum(n, in) + "/" + literal(static_cast<double>(n.input_count())) + ")"; }

#define OPTIMA_COMPARE(NAME, SIGN) \
  std::string NAME(const sdk::Node&, const In& in) { return "(" + in[0] + SIGN + in[1] + "?1:0)"; }
OPTIMA_COMPARE(equal, "==")
OPTIMA_COMPARE(greater, ">")
OPTIMA_COMPARE(less, "<")
OPTIMA_COMPARE(greater_equal, ">=")
OPTIMA_COMPARE(less_equal, "<=")
#undef OPTIMA_COMPARE
std::string logical_and(const sdk::Node&, const In& in) { return "(" + in[0] + "&" + in[1] + ")"; }
std::string logical_or(const sdk::Node&, const In& in) { return "(" + in[0] + "|" + in[1] + ")"; }
std::string logical_xor(const sdk::Node&, const In& in) { return "(" + in[0] + "^" + in[1] + ")"; }
std::string bitwise_not(const sdk::Node& n, const In& in) { return wrapped(n.output(0).dtype(), "(~" + in[0] + ")"); }
/// By the type's width or more, nothing stays but the sign; what leaves the 32 bits of a 64-bit integer is beyond them.
std::string bit_shift(const sdk::Node& n, const In& in) {
  const int32_t t = n.output(0).dtype();
  const std::string width = t == OPTIMA_I8 || t == OPTIMA_U8 ? "8u" : t == OPTIMA_I16 || t == OPTIMA_U16 ? "16u" : "32u";
  const bool left = n.string("direction", "") == "LEFT";
  if (left && t == OPTIMA_I64) return "(uint(" + in[1] + ")>=32u?mul64_(" + in[0] + ",2147483647):shift64_(" + in[0] + "," + in[1] + "))";
  return "(uint(" + in[1] + ")>=" + width + "?" + (left ? "0" : "(" + in[0] + "<0?-1:0)") + ":" + wrapped(t, "(" + in[0] + (left ? "<<" : ">>") + in[1] + ")") + ")";
}
std::string no_direction(const sdk::Node& n) {
  const std::string_view d = n.string("direction", "");
  return d != "LEFT" && d != "RIGHT" ? "direction is " + std::string(d) + ", wanted LEFT or RIGHT" : "";
}
std::string logical_not(const sdk::Node&, const In& in) { return "(1-" + in[0] + ")"; }
std::string where(const sdk::Node&, const In& in) { return "(" + in[0] + "!=0?" + in[1] + ":" + in[2] + ")"; }
std::string identity(const sdk::Node&, const In& in) { return in[0]; }

std::string cast(const sdk::Node& n, const In& in) {
  const bool from_float = element_of(n.input(0).dtype()) == Element::F32, to_float = element_of(n.output(0).dtype()) == Element::F32;
  const int32_t to = n.output(0).dtype();
  if (to_float) return from_float ? in[0] : (is_long(n.input(0)) ? "real64_(" : "float(") + in[0] + ")";
  if (to == OPTIMA_BOOL) return "(" + in[0] + (from_float ? "!=0.0?1:0)" : "!=0?1:0)");
  return wrapped(to, from_float ? "int_(" + in[0] + ")" : in[0]);
}

/// Of 64-bit floats the device has what is left of them in 32 bits: all that a Cast wants that goes to floats, or comes from what floats hold.
std::string no_cast(const sdk::Node& n) {
  constexpr sdk::Types kExact = kFloats | kBools | sdk::types(OPTIMA_I16, OPTIMA_I8, OPTIMA_U16, OPTIMA_U8, OPTIMA_F64);
  const int32_t from = n.input(0).dtype(), to = n.output(0).dtype();
  if (from == OPTIMA_F64 && to != OPTIMA_F64 && !(kFloats >> to & 1)) return "f64 to " + sdk::dtype_name(to) + ", and 64-bit floats are read as 32-bit ones";
  if (from == OPTIMA_F64 && to == OPTIMA_F64) return "f64 stays f64, and kernels have 32 bits for it";
  return to == OPTIMA_F64 && !(kExact >> from & 1) ? sdk::dtype_name(from) + " to f64, and kernels have 32 bits for it" : "";
}

constexpr Row row(sdk::Op o, std::string (*e)(const sdk::Node&, const In&), std::string (*refuse)(const sdk::Node&) = nullptr) {
  Row r;
  r.op = o, r.expression = e, r.refuse = refuse;
  return r;
}

/// One of any number of operands.
constexpr Row of_many(Row r, std::string (*join)(const std::string&, const std::string&)) {
  r.join = join;
  return r;
}

/// An operator whose further inputs are read for their type alone.
constexpr Row first_of(Row r) {
  r.operands = 1;
  return r;
}

constexpr sdk::Types F = kFloats, N = kNumbers, B = kBools, I = kIntegers, A = kAny, D = sdk::types(OPTIMA_F64);
constexpr Row kRows[] = {
    row(op("Relu", 6, 14, {F | I}, {F | I}), relu), row(op("Exp", 6, 13, {F}, {F}), exp_of), row(op("Log", 6, 13, {F}, {F}), log_of),
    row(op("Sqrt", 6, 13, {F}, {F}), sqrt_of), row(op("Floor", 6, 13, {F}, {F}), floor_of), row(op("Ceil", 6, 13, {F}, {F}), ceil_of),
    row(op("Round", 11, 22, {F}, {F}), round_of), row(op("Abs", 6, 13, {N}, {N}), abs_of), row(op("Neg", 6, 13, {N}, {N}), neg),
    row(op("Reciprocal", 6, 13, {F}, {F}), reciprocal), row(op("Tanh", 6, 13, {F}, {F}), tanh_of), row(op("Sigmoid", 6, 13, {F}, {F}), sigmoid_of),
    row(op("Erf", 9, 13, {F}, {F}), erf_of), row(op("Softplus", 1, 22, {F}, {F}), softplus_of), row(op("Softsign", 1, 22, {F}, {F}), softsign),
    row(op("Sin", 7, 22, {F}, {F}), sin_of), row(op("Cos", 7, 22, {F}, {F}), cos_of), row(op("Tan", 7, 22, {F}, {F}), tan_of),
    row(op("Asin", 7, 22, {F}, {F}), asin_of), row(op("Acos", 7, 22, {F}, {F}), acos_of), row(op("Atan", 7, 22, {F}, {F}), atan_of),
    row(op("Sinh", 9, 22, {F}, {F}), sinh_of), row(op("Cosh", 9, 22, {F}, {F}), cosh_of), row(op("Asinh", 9, 22, {F}, {F}), asinh_of),
    row(op("Acosh", 9, 22, {F}, {F}), acosh_of), row(op("Atanh", 9, 22, {F}, {F}), atanh_of), row(op("Sign", 9, 13, {N}, {N}), sign),
    row(op("IsNaN", 9, 20, {F}, {B}), is_nan), row(op("IsInf", 10, 20, {F}, {B}), is_inf), row(op("LeakyRelu", 6, 16, {F}, {F}), leaky_relu),
    row(op("PRelu", 7, 16, {N}, {N}), prelu), row(op("Elu", 6, 22, {F}, {F}), elu), row(op("Celu", 12, 28, {F}, {F}), celu),
    row(op("Selu", 6, 22, {F}, {F}), selu), row(op("ThresholdedRelu", 10, 22, {F}, {F}), thresholded), row(op("HardSigmoid", 6, 22, {F}, {F}), hard_sigmoid),
    row(op("HardSwish", 14, 22, {F}, {F}), hard_swish), row(op("Mish", 18, 22, {F}, {F}), mish), row(op("Swish", 24, 24, {F}, {F}), swish),
    row(op("SwiGLU", 28, 28, {F}, {F}), swiglu), row(op("BitShift", 11, 28, {I}, {I}), bit_shift, no_direction),
    row(op("Gelu", 20, 20, {F}, {F}), gelu), row(op("Shrink", 9, 9, {F}, {F}), shrink), row(op("Clip", 6, 13, {N}, {N}), clip),
    row(op("Add", 7, 14, {N}, {N}), addition), row(op("Sub", 7, 14, {N}, {N}), subtraction), row(op("Mul", 7, 14, {N}, {N}), multiplication),
    row(op("Div", 7, 14, {N}, {N}), division), row(op("Mod", 10, 28, {N}, {N}), modulo), row(op("Pow", 7, 15, {N}, {N}), power),
    of_many(row(op("Max", 8, 13, {N}, {N}), largest), larger), of_many(row(op("Min", 8, 13, {N}, {N}), smallest), smaller), of_many(row(op("Sum", 8, 13, {F}, {F}), sum), added),
    of_many(row(op("Mean", 8, 13, {F}, {F}), mean), added), row(op("Equal", 7, 19, {A}, {B}), equal), row(op("Greater", 7, 13, {N}, {B}), greater),
    row(op("Less", 7, 13, {N}, {B}), less), row(op("GreaterOrEqual", 12, 16, {N}, {B}), greater_equal), row(op("LessOrEqual", 12, 16, {N}, {B}), less_equal),
    row(op("And", 7, 7, {B}, {B}), logical_and), row(op("Or", 7, 7, {B}, {B}), logical_or), row(op("Xor", 7, 7, {B}, {B}), logical_xor),
    row(op("BitwiseAnd", 18, 18, {I}, {I}), logical_and), row(op("BitwiseOr", 18, 18, {I}, {I}), logical_or), row(op("BitwiseXor", 18, 18, {I}, {I}), logical_xor),
    row(op("BitwiseNot", 18, 18, {I}, {I}), bitwise_not), row(op("Not", 1, 1, {B}, {B}), logical_not), row(op("Where", 9, 16, {B, A, A}, {A}), where),
    row(op("Identity", 1, 25, {A}, {A}), identity),
    row(op("Cast", 6, 28, {A | D}, {A | D}), cast, no_cast), first_of(row(op("CastLike", 15, 28, {A | D, A | D}, {A | D}), cast, no_cast)),
};

}  // namespace of_pointwise

Family pointwise_family() { return of_pointwise::kRows; }

}  // namespace spirv_plugin
