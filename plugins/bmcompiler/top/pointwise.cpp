// SPDX-License-Identifier: Apache-2.0
// Unary and binary operators, comparisons, choices, conversions. A value of the graph that is bool or an integer is a float here.
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "chain.hpp"

namespace bmcompiler_plugin::top {
namespace of_pointwise {

std::string floats_only(const sdk::Node& node, const Chip&) { return wants_floats(node); }

/// Operators of one operand and no attribute, under the dialect's names.
struct Plain {
  std::string_view op, top;
};
constexpr Plain kPlain[] = {
    {"Abs", "Abs"},   {"HardSwish", "HardSwish"}, {"Log", "Log"},           {"Mish", "Mish"},
    {"Sin", "Sin"}, {"Softplus", "Softplus"},   {"Softsign", "Softsign"}, {"Sqrt", "Sqrt"}, {"Tanh", "Tanh"},
};

void write_plain(Lowering& to, const sdk::Node& node) {
  for (const Plain& p : kPlain)
    if (p.op == node.op()) return to.emit(node, p.top, {to.own(node, 0)}, {});
}

void write_exp(Lowering& to, const sdk::Node& node) {
  Chain c(to, node);
  const Value x = to.own(node, 0), bounded = to.chip().name == "cv183x" ? c.least(x, kLeastPower) : x;
  c.last().op("Exp", {bounded});
}

/// By sines a quarter further on bm1684, where a cosine writes over its operand, which others may read.
Value cosine(Chain& c, Value x, const Chip& chip, bool last = false) {
  const bool by_sine = chip.name == "bm1684";
  if (by_sine) x = c.add(x, std::numbers::pi / 2);
  if (last) c.last();
  return c.op(by_sine ? "Sin" : "Cos", {x});
}
void write_cos(Lowering& to, const sdk::Node& node) {
  Chain c(to, node);
  cosine(c, to.read(node.input(0)), to.chip(), true);
}
/// bm1684's tools end on both once they are beside others.
void write_softsign(Lowering& to, const sdk::Node& node) {
  if (to.chip().name != "bm1684") return write_plain(to, node);
  Chain c(to, node);
  const Value x = to.read(node.input(0)), part = c.inverse(c.add(c.op("Abs", {x}), 1));  // a quotient the tools make a Softsign again
  c.last().mul(x, part);
}
void write_mish(Lowering& to, const sdk::Node& node) {
  if (to.chip().name != "bm1684") return write_plain(to, node);
  Chain c(to, node);
  const Value x = to.read(node.input(0)), gate = c.op("Tanh", {c.op("Softplus", {x})});
  c.last().mul(x, gate);
}

/// By two comparisons: the dialect's own of -0 and of denormal numbers is -1 on bm1684x.
void write_sign(Lowering& to, const sdk::Node& node) {
  Chain c(to, node);
  const Value x = to.read(node.input(0)), above = c.compare(x, "Greater", 0), below = c.compare(x, "Less", 0);
  c.last().sub(above, below);
}
void write_neg(Lowering& to, const sdk::Node& node) { Chain(to, node).last().mul(to.read(node.input(0)), -1); }
void write_floor(Lowering& to, const sdk::Node& node) { Chain(to, node).last().floor(to.read(node.input(0))); }
void write_reciprocal(Lowering& to, const sdk::Node& node) { Chain(to, node).last().inverse(to.read(node.input(0))); }
void write_relu(Lowering& to, const sdk::Node& node) { to.emit(node, "Relu", {to.read(node.input(0))}, Attributes().f64("relu_limit", -1)); }

/// No form on bm1684, and what has one there is exact.
void write_ceil(Lowering& to, const sdk::Node& node) {
  Chain c(to, node);
  const Value down = c.floor(c.mul(to.read(node.input(0)), -1));
  c.last().mul(down, -1);
}

/// To the nearest, of two the even one: with f the floor and d what is above it, f + (d > 1/2) + (d = 1/2 and f odd).
void write_round(Lowering& to, const sdk::Node& node) {
  Chain c(to, node);
  const Value x = to.read(node.input(0)), f = c.floor(x), d = c.sub(x, f);
  const Value up = c.compare(d, "Greater", 0.5), tie = c.compare(d, "Equal", 0.5);
  const Value odd = c.sub(f, c.mul(c.floor(c.mul(f, 0.5)), 2));
  const Value nearest = c.add(f, up);
  const Value even = c.mul(tie, odd);
  c.last().add(nearest, even);
}

void write_hyperbolic(Lowering& to, const sdk::Node& node) {
  Chain c(to, node);
  const Value x = to.read(node.input(0)), up = c.op("Exp", {x}), down = c.op("Exp", {c.mul(x, -1)});
  const Value twice = node.op() == "Cosh" ? c.add(up, down) : c.sub(up, down);
  c.last().mul(twice, 0.5);
}
void write_tan(Lowering& to, const sdk::Node& node) {
  Chain c(to, node);
  const Value x = to.read(node.input(0)), above = c.op("Sin", {x}), below = cosine(c, x, to.chip());
  c.last().div(above, below);
}

/// Abramowitz and Stegun 7.1.26: 1 - (a1 t + ... + a5 t^5) exp(-x^2), t = 1 / (1 + p |x|), at most 1.5e-7 away. The size of it, for |x|.
Value erf(Chain& c, Value x) {
  constexpr std::array<double, 5> kA = {1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592};
  const Value t = c.inverse(c.add(c.mul(c.op("Abs", {x}), 0.3275911), 1));
  Value sum = c.add(c.mul(t, kA[0]), kA[1]);
  for (size_t k = 2; k < kA.size(); ++k) sum = c.add(c.mul(sum, t), kA[k]);
  const Value tail = c.op("Exp", {c.mul(c.mul(x, x), -1)});
  return c.add(c.mul(c.mul(c.mul(sum, t), tail), -1), 1);
}
void write_erf(Lowering& to, const sdk::Node& node) {
  if (to.chip().name != "bm1684") return to.emit(node, "Erf", {to.read(node.input(0))}, {});
  Chain c(to, node);
  const Value x = to.read(node.input(0)), size = erf(c, x), sign = c.op("Sign", {x});
  c.last().mul(sign, size);
}

/// Of numbers from -1 to 1: a minimax polynomial of odd degrees, at most 6e-9 away (fitted by Remez' exchange in double precision).
Value arctangent(Chain& c, Value t) {
  constexpr std::array<double, 9> kP = {0.00245672547391, -0.0144013616637, 0.0397812300337, -0.0723485795493, 0.104989463762,
                                        -0.14161229278,   0.199859067782,   -0.333325970288, 0.999999886383};
  const Value square = c.mul(t, t);
  Value sum = c.add(c.mul(square, kP[0]), kP[1]);
  for (size_t k = 2; k < kP.size(); ++k) sum = c.add(c.mul(sum, square), kP[k]);
  return c.mul(sum, t);
}

/// Beyond 1 by pi/2 less the arc of the inverse.
void write_atan(Lowering& to, const sdk::Node& node) {
  Chain c(to, node);
  const Value x = to.read(node.input(0)), size = c.op("Abs", {x});
  const Value t = c.mul(c.most(size, 1), c.inverse(c.least(size, 1)));
  const Value arc = arctangent(c, t), beyond = c.compare(size, "Greater", 1);
  const Value other = c.mul(beyond, c.add(c.mul(arc, -2), std::numbers::pi / 2));
  const Value all = c.add(arc, other), sign = c.op("Sign", {x});
  c.last().mul(sign, all);
}

/// Half of it: atan(x / (1 + sqrt(1 - x^2))).
Value arcsine(Chain& c, Value x) {
  const Value other = c.op("Sqrt", {c.least(c.mul(c.add(x, 1), c.add(c.mul(x, -1), 1)), 0)});
  return arctangent(c, c.mul(x, c.inverse(c.add(other, 1))));
}
void write_asin(Lowering& to, const sdk::Node& node) {
  Chain c(to, node);
  const Value half = arcsine(c, to.read(node.input(0)));
  c.last().mul(half, 2);
}
void write_acos(Lowering& to, const sdk::Node& node) {
  Chain c(to, node);
  const Value y = c.mul(arcsine(c, to.read(node.input(0))), -2);
  c.last().add(y, std::numbers::pi / 2);
}
/// ln(|x| + sqrt(x^2 + 1)) with x's sign.
void write_asinh(Lowering& to, const sdk::Node& node) {
  Chain c(to, node);
  const Value x = to.read(node.input(0)), size = c.op("Abs", {x});
  const Value y = c.op("Log", {c.add(size, c.op("Sqrt", {c.add(c.mul(x, x), 1)}))});
  const Value sign = c.op("Sign", {x});
  c.last().mul(sign, y);
}
void write_acosh(Lowering& to, const sdk::Node& node) {
  Chain c(to, node);
  const Value x = to.read(node.input(0));
  const Value sum = c.add(x, c.op("Sqrt", {c.mul(c.add(x, -1), c.add(x, 1))}));
  c.last().op("Log", {sum});
}
/// ln((1 + x) / (1 - x)) / 2.
void write_atanh(Lowering& to, const sdk::Node& node) {
  Chain c(to, node);
  const Value x = to.read(node.input(0));
  const Value ratio = c.mul(c.add(x, 1), c.inverse(c.add(c.mul(x, -1), 1)));
  const Value y = c.op("Log", {ratio});
  c.last().mul(y, 0.5);
}

void write_sigmoid(Lowering& to, const sdk::Node& node) {
  to.emit(node, "Sigmoid", {to.own(node, 0)}, sigmoid());
}
void write_leaky_relu(Lowering& to, const sdk::Node& node) {
  to.emit(node, "LeakyRelu", {to.read(node.input(0))}, Attributes().f64("alpha", node.real("alpha", 0.01)).text("round_mode", kHalfAway));
}
/// gain (max(x, 0) + alpha (exp(min(x, 0)) - 1)). The dialect's own operator is right on bm1684x alone: bm1684 takes alpha for 1.
void write_elu_of(Chain& c, Value x, const Chip& chip, double alpha, double gain) {
  if (chip.name == "bm1684x") {
    if (gain == 1) c.last();
    const Value y = c.op("Elu", {x}, Attributes().f64("alpha", alpha));
    if (gain != 1) c.last().mul(y, gain);
    return;
  }
  const Value low = c.mul(c.add(c.op("Exp", {c.most(x, 0)}), -1), alpha * gain), high = c.mul(c.least(x, 0), gain);
  c.last().add(low, high);
}
void write_elu(Lowering& to, const sdk::Node& node) {
  Chain c(to, node);
  write_elu_of(c, to.read(node.input(0)), to.chip(), node.real("alpha", 1), 1);
}
void write_selu(Lowering& to, const sdk::Node& node) {
  Chain c(to, node);
  write_elu_of(c, to.read(node.input(0)), to.chip(), node.real("alpha", 1.67326319217681884765625), node.real("gamma", 1.05070102214813232421875));
}
/// Of x / alpha, times alpha.
void write_celu(Lowering& to, const sdk::Node& node) {
  const double alpha = node.real("alpha", 1);
  Chain c(to, node);
  write_elu_of(c, c.mul(to.read(node.input(0)), 1 / alpha), to.chip(), 1, alpha);
}
void write_hard_sigmoid(Lowering& to, const sdk::Node& node) {
  to.emit(node, "HardSigmoid", {to.read(node.input(0))}, Attributes().f64("alpha", node.real("alpha", 0.2)).f64("beta", node.real("beta", 0.5)));
}
void write_thresholded_relu(Lowering& to, const sdk::Node& node) {
  Chain c(to, node);
  const Value x = to.read(node.input(0)), above = c.compare(x, "Greater", node.real("alpha", 1));
  c.last().mul(x, above);
}
void write_shrink(Lowering& to, const sdk::Node& node) {
  const double bound = node.real("lambd", 0.5), bias = node.real("bias", 0);
  Chain c(to, node);
  const Value x = to.read(node.input(0));
  const Value low = c.mul(c.compare(x, "Less", -bound), c.add(x, bias)), high = c.mul(c.compare(x, "Greater", bound), c.add(x, -bias));
  c.last().add(low, high);
}

void write_gelu(Lowering& to, const sdk::Node& node) {
  Chain c(to, node);
  const Value x = to.read(node.input(0));
  if (node.string("approximate", "none") == "none" && to.chip().name != "bm1684")
    return to.emit(node, "GELU", {x}, Attributes().text("round_mode", kHalfAway).text("approx_mode", "normal"));
  Value inside;
  if (node.string("approximate", "none") == "tanh")
    inside = c.op("Tanh", {c.mul(c.add(x, c.mul(c.mul(c.mul(x, x), x), 0.044715)), std::sqrt(2 / std::numbers::pi))});
  else
    inside = c.mul(c.op("Sign", {x}), erf(c, c.mul(x, 1 / std::numbers::sqrt2)));
  const Value half = c.mul(x, 0.5), one = c.add(inside, 1);
  c.last().mul(half, one);
}

bool present(const sdk::Node& node, uint32_t k) { return static_cast<bool>(node.input(k)); }

std::string refuses_clip(const sdk::Node& node, const Chip&) {
  for (uint32_t k = 1; k < 3; ++k)
    if (present(node, k) && !node.input(k).is_constant()) return "bound " + std::to_string(k) + " is computed, wanted a constant";
  return wants_floats(node);
}
/// A bound that is greater than the other wins as ONNX has it: the upper one.
void write_clip(Lowering& to, const sdk::Node& node) {
  // From 0 on it is an operator that the tools make one with the one before.
  if (present(node, 1) && present(node, 2) && Lowering::floats(node.input(1))[0] == 0 && Lowering::floats(node.input(2))[0] > 0)
    return to.emit(node, "Relu", {to.read(node.input(0))}, Attributes().f64("relu_limit", Lowering::floats(node.input(2))[0]));
  Value v = to.read(node.input(0));
  Chain c(to, node);
  if (present(node, 1) && present(node, 2)) v = c.least(v, Lowering::floats(node.input(1))[0]);
  c.last();
  if (present(node, 2)) c.most(v, Lowering::floats(node.input(2))[0]);
  else c.least(v, present(node, 1) ? Lowering::floats(node.input(1))[0] : std::numeric_limits<float>::lowest());
}

// --- two operands and more

Attributes attributes_of(std::string_view op) {
  if (op == "Sub" || op == "Div") return binary().flag("is_reverse", false);
  if (op == "Add" || op == "Mul") return binary();
  return {};  // Max, Min
}

/// `op` over all operands from the left.
Value folded(Chain& c, Lowering& to, const sdk::Node& node, std::string_view op, bool ends) {
  const size_t rank = c.shape().size();
  Value sum = raised(to, node, node.input(0), rank);
  std::vector<int64_t> all = c.shape(), dims(rank, 1);
  const auto widen = [&](const sdk::Value& v) {
    const std::vector<int64_t> more = dims_of(v);
    for (size_t k = 0; k < more.size(); ++k)
      if (int64_t& d = dims[rank - more.size() + k]; d == 1) d = more[k];
  };
  widen(node.input(0));
  for (uint32_t k = 1; k < node.input_count(); ++k) {
    widen(node.input(k));
    const Value other = raised(to, node, node.input(k), rank);
    c.shape(dims);
    if (ends && k + 1 == node.input_count()) c.last();
    sum = c.op(op, {sum, other}, attributes_of(op));
  }
  c.shape(all);
  return sum;
}

void write_binary(Lowering& to, const sdk::Node& node) {
  const std::string_view op = node.op() == "Sum" ? "Add" : node.op() == "And" ? "Mul" : node.op() == "Or" ? "Max" : node.op();
  if (node.input_count() == 1) return to.set(node, 0, to.read(node.input(0)));
  Chain c(to, node);
  folded(c, to, node, op, true);
}
void write_mean(Lowering& to, const sdk::Node& node) {
  Chain c(to, node);
  const Value sum = folded(c, to, node, "Add", false);
  c.last().mul(sum, 1.0 / node.input_count());
}

std::string refuses_infinities(const sdk::Node& node, const Chip&) {
  for (uint32_t k = 0; k < 2; ++k) {
    if (!node.input(k).is_constant() || node.input(k).dtype() != OPTIMA_F32) continue;
    for (const float v : Lowering::floats(node.input(k)))
      if (std::isinf(v)) return "operand " + std::to_string(k) + " holds an infinity, wanted finite numbers: the greatest of infinities is the largest float on these chips";
  }
  return {};
}
void write_comparison(Lowering& to, const sdk::Node& node) {
  const size_t rank = dims_of(node.output(0)).size();
  const std::string_view mode = node.op() == "Xor" ? "NotEqual" : node.op();
  to.emit(node, "Compare", {raised(to, node, node.input(0), rank), raised(to, node, node.input(1), rank)}, Attributes().text("mode", mode));
}
/// By two orders: the tools' own compares bits on bm1684x, where -0 is not 0.
void write_equal(Lowering& to, const sdk::Node& node) {
  Chain c(to, node);
  const size_t rank = c.shape().size();
  const Value x = raised(to, node, node.input(0), rank), y = raised(to, node, node.input(1), rank);
  const Value not_less = c.op("Compare", {x, y}, Attributes().text("mode", "GreaterOrEqual"));
  const Value not_more = c.op("Compare", {x, y}, Attributes().text("mode", "LessOrEqual"));
  c.last().mul(not_less, not_more);
}
void write_not(Lowering& to, const sdk::Node& node) { Chain(to, node).last().compare(to.read(node.input(0)), "Less", 0.5); }

std::string refuses_kinds(const sdk::Node& node, const Chip& chip) {
  if (node.input(0).dtype() != OPTIMA_F32) return wants_floats(node);
  return chip.has_mode("F32") ? std::string() : std::string(chip.name) + " has no f32, whose greatest number tells infinities apart";
}
/// 1 where |x| is greater than every number; of a NaN that is 0 on these chips, as it should be.
Value infinite(Chain& c, Value x) { return c.compare(x, "Greater", std::numeric_limits<float>::max()); }
void write_is_inf(Lowering& to, const sdk::Node& node) {
  const bool above = node.integer("detect_positive", 1) != 0, below = node.integer("detect_negative", 1) != 0;
  Chain c(to, node);
  Value x = to.read(node.input(0));
  if (below) x = above ? c.op("Abs", {x}) : c.mul(x, -1);
  else if (!above) x = c.mul(x, 0);
  c.last();
  infinite(c, x);
}
/// 0 x is a number of x alone; of infinities and NaN it is NaN, which equals no number. NaN beside itself is equal on these chips.
void write_is_nan(Lowering& to, const sdk::Node& node) {
  Chain c(to, node);
  const Value x = to.read(node.input(0)), none = c.compare(c.op("Abs", {c.mul(x, 0)}), "NotEqual", 0), large = infinite(c, c.op("Abs", {x}));
  c.last().sub(none, large);
}

/// Of a constant number.
std::optional<float> number(const sdk::Value& v) {
  if (!v.is_constant() || v.elements() != 1) return {};
  return Lowering::floats(v)[0];
}
std::string refuses_where(const sdk::Node& node, const Chip& chip) {
  if (chip.name != "bm1684") return {};
  const bool x = number(node.input(1)).has_value(), y = number(node.input(2)).has_value();
  if (x == y) return "bm1684 chooses between a tensor and one constant number alone: its compiler ends on other choices";
  if (node.input(0).shape() != node.output(0).shape() || node.input(x ? 2 : 1).shape() != node.output(0).shape())
    return "bm1684 chooses where condition and tensor have the result's shape alone";
  return {};
}
/// On bm1684 the constant goes where the condition is so.
void fill(Lowering& to, const sdk::Node& node, std::optional<float> x, std::optional<float> y) {
  Chain c(to, node);
  Value where = to.read(node.input(0));
  if (y) where = c.compare(where, "Less", 0.5);
  c.last().op("MaskedFill", {where, to.read(node.input(y ? 1 : 2))}, Attributes().flag("inversed", false).f64("const_val", x ? *x : *y));
}
/// Input k in the output's dims: what the tools repeat themselves beside codes has a name that no table of modes knows, and ends them.
Value widened(Lowering& to, const sdk::Node& node, uint32_t k) {
  Chain c(to, node);
  const std::vector<int64_t> all = c.shape();
  const Value v = raised(to, node, node.input(k), all.size());
  return node.input(k).is_constant() ? v : spread(c, v, raised_dims(node.input(k), all.size()), all);
}
void write_where(Lowering& to, const sdk::Node& node) {
  const std::optional<float> x = number(node.input(1)), y = number(node.input(2));
  if (to.chip().name == "bm1684") return fill(to, node, x, y);
  const Value none = to.module().none(), choice = widened(to, node, 0);
  to.emit(node, "Where", {choice, x ? none : widened(to, node, 1), y ? none : widened(to, node, 2)},
          Attributes().flag("x_is_const", x.has_value()).flag("y_is_const", y.has_value()).f64("x_const_val", x.value_or(0)).f64("y_const_val", y.value_or(0)));
}

/// A float to an integer loses what is behind the point; all else is the same float.
void write_cast(Lowering& to, const sdk::Node& node) {
  const Value x = to.read(node.input(0));
  const int32_t from = node.input(0).dtype(), into = node.output(0).dtype();
  Chain c(to, node);
  if (into == OPTIMA_BOOL && from != OPTIMA_BOOL) {
    const Value size = c.op("Abs", {x});  // -0 is false, too
    c.last().compare(size, "Greater", 0);
  } else if (from == OPTIMA_F32 && into != OPTIMA_F32) {
    const Value whole = c.floor(c.op("Abs", {x})), sign = c.op("Sign", {x});
    c.last().mul(sign, whole);
  } else {
    to.set(node, 0, x);
  }
}

/// x sigmoid(alpha x), times the second operand of SwiGLU.
void write_swish(Lowering& to, const sdk::Node& node) {
  Chain c(to, node);
  const Value x = to.read(node.input(0)), inside = node.real("alpha", 1) == 1 ? to.copied(node, x, c.shape()) : c.mul(x, node.real("alpha", 1));
  const Value gate = c.op("Sigmoid", {inside}, sigmoid());
  if (node.op() == "Swish") {
    c.last().mul(x, gate);
    return;
  }
  const Value gated = c.mul(x, gate), other = to.read(node.input(1));
  c.last().mul(gated, other);
}

std::string refuses_mod(const sdk::Node& node, const Chip&) {
  if (node.input(0).dtype() != OPTIMA_F32) return {};
  return "operands are of f32, wanted integers: where a quotient rounds up to a whole number these chips' remainder is one divisor off";
}
/// m, the sizes' remainder, is exact: a quotient that is one off shows in its sign or size. Integers here are 16777216 at most.
void write_mod(Lowering& to, const sdk::Node& node) {
  Chain c(to, node);
  const std::vector<int64_t> all = c.shape();
  const Value a = raised(to, node, node.input(0), all.size()), b = raised(to, node, node.input(1), all.size());
  const Value size = c.shape(raised_dims(node.input(0), all.size())).op("Abs", {a}), sign = c.op("Sign", {a});
  const Value divisor = c.shape(raised_dims(node.input(1), all.size())).op("Abs", {b}), wanted = c.op("Sign", {b});
  c.shape(all);
  const auto rest = [&](Value x) { return c.sub(x, c.mul(c.floor(c.div(x, divisor)), divisor)); };
  Value m = rest(rest(size));  // of 16777215 by 1 the first quotient is 2 off
  m = c.add(m, c.mul(c.compare(m, "Less", 0), divisor));
  const Value over = c.compare(c.sub(m, divisor), "GreaterOrEqual", 0);
  m = c.sub(m, c.mul(over, divisor));
  if (node.integer("fmod", 0) != 0) {
    c.last().mul(m, sign);
    return;
  }
  // With the divisor's sign: where the operands' signs differ, from the other end.
  const Value differ = c.compare(c.mul(sign, wanted), "Less", 0), some = c.compare(m, "Greater", 0);
  const Value turn = c.mul(c.mul(differ, some), c.sub(divisor, c.mul(m, 2)));
  const Value turned = c.add(m, turn);
  c.last().mul(turned, wanted);
}

/// The exponent where it is one constant number.
std::optional<float> exponent(const sdk::Node& node) {
  if (!node.input(1).is_constant() || node.input(1).elements() != 1) return {};
  return Lowering::floats(node.input(1))[0];
}
constexpr float kMostProducts = 8;

std::string refuses_pow(const sdk::Node& node, const Chip&) {
  if (std::string why = wants_floats(node); !why.empty()) return why;
  const std::optional<float> e = exponent(node);
  if (!e) return "exponent is no constant number: these chips raise negative numbers to no whole power";
  const float size = std::abs(*e);
  if (size == 0.5f || (size == std::floor(size) && size >= 1 && size <= kMostProducts)) return {};
  return "exponent is " + std::to_string(*e) + ", wanted one half or a whole number from 1 to 8, or less 0 by as much";
}
/// By products and a root.
void write_pow(Lowering& to, const sdk::Node& node) {
  const float e = *exponent(node), size = std::abs(e);
  Chain c(to, node);
  Value x = raised(to, node, node.input(0), c.shape().size());
  if (e == 1) return to.set(node, 0, x);
  const bool turns = e < 0;
  const int factors = static_cast<int>(size);
  Value y = x;
  for (int k = 1; k < factors; ++k) {
    if (!turns && k + 1 == factors) c.last();
    y = c.mul(y, x);
  }
  if (size == 0.5f) {
    x = to.copied(node, x, c.shape());
    if (!turns) c.last();
    y = c.op("Sqrt", {x});
  }
  if (turns) c.last().inverse(y);
}

std::string refuses_prelu(const sdk::Node& node, const Chip&) { return wants_floats(node); }
/// max(x, 0) + slope min(x, 0).
void write_prelu(Lowering& to, const sdk::Node& node) {
  Chain c(to, node);
  const std::vector<int64_t> dims = c.shape(), slope = dims_of(node.input(1));
  const Value x = to.read(node.input(0));
  const bool one_a_channel = dims.size() >= 2 && slope.size() + 1 == dims.size() && slope[0] == dims[1] && node.input(1).elements() == dims[1];
  if (one_a_channel && node.input(1).is_constant()) return to.emit(node, "PRelu", {x, raised(to, node, node.input(1), dims.size())}, {});
  const Value high = c.least(x, 0), low = c.mul(c.most(x, 0), raised(to, node, node.input(1), dims.size()));
  c.last().add(high, low);
}

constexpr Row kRows[] = {
    {"Abs", floats_only, write_plain},
    {"Acos", floats_only, write_acos},
    {"Acosh", floats_only, write_acosh},
    {"Add", floats_only, write_binary},
    {"And", nullptr, write_binary},
    {"Asin", floats_only, write_asin},
    {"Asinh", floats_only, write_asinh},
    {"Atan", floats_only, write_atan},
    {"Atanh", floats_only, write_atanh},
    {"Cast", nullptr, write_cast},
    {"CastLike", refuses_infinities, write_cast},
    {"Ceil", floats_only, write_ceil},
    {"Celu", floats_only, write_celu},
    {"Clip", refuses_clip, write_clip},
    {"Cos", floats_only, write_cos},
    {"Cosh", floats_only, write_hyperbolic},
    {"Div", floats_only, write_binary},
    {"Elu", floats_only, write_elu},
    {"Equal", refuses_infinities, write_equal},
    {"Erf", floats_only, write_erf},
    {"Exp", floats_only, write_exp},
    {"Floor", floats_only, write_floor},
    {"Gelu", floats_only, write_gelu},
    {"Greater", refuses_infinities, write_comparison},
    {"GreaterOrEqual", refuses_infinities, write_comparison},
    {"HardSigmoid", floats_only, write_hard_sigmoid},
    {"HardSwish", floats_only, write_plain},
    {"IsInf", refuses_kinds, write_is_inf},
    {"IsNaN", refuses_kinds, write_is_nan},
    {"LeakyRelu", floats_only, write_leaky_relu},
    {"Less", refuses_infinities, write_comparison},
    {"LessOrEqual", refuses_infinities, write_comparison},
    {"Log", floats_only, write_plain},
    {"Max", floats_only, write_binary},
    {"Mean", floats_only, write_mean},
    {"Min", floats_only, write_binary},
    {"Mish", floats_only, write_mish},
    {"Mod", refuses_mod, write_mod},
    {"Mul", floats_only, write_binary},
    {"Neg", floats_only, write_neg},
    {"Not", nullptr, write_not},
    {"Or", nullptr, write_binary},
    {"PRelu", refuses_prelu, write_prelu},
    {"Pow", refuses_pow, write_pow},
    {"Reciprocal", floats_only, write_reciprocal},
    {"Relu", floats_only, write_relu},
    {"Round", floats_only, write_round},
    {"Selu", floats_only, write_selu},
    {"Shrink", floats_only, write_shrink},
    {"Sigmoid", floats_only, write_sigmoid},
    {"Sign", floats_only, write_sign},
    {"Sin", floats_only, write_plain},
    {"Sinh", floats_only, write_hyperbolic},
    {"Softplus", floats_only, write_plain},
    {"Softsign", floats_only, write_softsign},
    {"Sqrt", floats_only, write_plain},
    {"Sub", floats_only, write_binary},
    {"Sum", floats_only, write_binary},
    {"SwiGLU", floats_only, write_swish},
    {"Swish", floats_only, write_swish},
    {"Tan", floats_only, write_tan},
    {"Tanh", floats_only, write_plain},
    {"ThresholdedRelu", floats_only, write_thresholded_relu},
    {"Where", refuses_where, write_where},
    {"Xor", nullptr, write_comparison},
};

}  // namespace of_pointwise

sdk::Span<const Row> pointwise() { return of_pointwise::kRows; }

}  // namespace bmcompiler_plugin::top
