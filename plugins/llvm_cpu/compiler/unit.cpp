// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/compiler: see unit.hpp.
#include "plugins/llvm_cpu/compiler/unit.hpp"

#include <algorithm>
#include <cmath>

#include "plugins/llvm_cpu/compiler/lowering.hpp"

namespace optima::llvm_cpu {
namespace {

std::optional<std::vector<int32_t>> zeros(const NodeView& n, size_t count) {
  if (!n.has_input(2)) return std::vector<int32_t>(count, 0);
  const auto all = n.graph.small_integers(n.input(2));
  return all && all->size() == count ? all : std::nullopt;
}

/// Operands `at`, `at` + 1 and `at` + 2 of an operator that quantizes by itself: codes, scale, zero point.
std::optional<Codes> own_codes(const NodeView& n, uint32_t value, uint32_t at) {
  auto scale = n.graph.floats(n.input(at));
  auto zero = n.graph.small_integers(n.input(at + 1));
  if (!scale || !zero || scale->empty() || zero->empty()) return std::nullopt;
  const size_t count = std::max(scale->size(), zero->size());
  if ((scale->size() != 1 && scale->size() != count) || (zero->size() != 1 && zero->size() != count)) return std::nullopt;
  if (std::any_of(scale->begin(), scale->end(), [](float s) { return !(s > 0) || !std::isfinite(s); })) return std::nullopt;
  scale->resize(count, scale->front()), zero->resize(count, zero->front());
  Codes c;
  c.value = value, c.dtype = n.graph.dtype(value), c.scale = *scale, c.zero = *zero;
  return c;
}

/// QLinearConv and QLinearMatMul as the float operator between DequantizeLinear and QuantizeLinear.
Unit unit_of_codes(const NodeView& op) {
  Unit u{op, {}, {}, own_codes(op, op.output(0), 6), op.output(0)};
  const bool conv = op.op() == "QLinearConv";
  UnitInput x{op.input(0), own_codes(op, op.input(0), 1)}, w{op.input(3), own_codes(op, op.input(3), 4)};
  if (w.codes && w.codes->scale.size() > 1) w.codes->axis = conv ? 0 : static_cast<int>(op.in_dims(3).size()) - 1;
  u.inputs = {x, w};
  if (!conv || !op.has_input(8)) return u;
  UnitInput bias{op.input(8), {}};
  if (x.codes && x.codes->is_scalar() && w.codes) {
    bias.codes = *w.codes;
    bias.codes->value = bias.value, bias.codes->dtype = OPTIMA_I32;
    for (float& s : bias.codes->scale) s *= x.codes->scale[0];
    std::fill(bias.codes->zero.begin(), bias.codes->zero.end(), 0);
  }
  u.inputs.push_back(bias);
  return u;
}

}  // namespace

bool is_quantize(const NodeView& n) { return n.op() == "QuantizeLinear" && n.domain().empty(); }
bool is_dequantize(const NodeView& n) { return n.op() == "DequantizeLinear" && n.domain().empty(); }
bool is_transpose(const NodeView& n) { return n.op() == "Transpose" && n.domain().empty(); }

std::optional<Codes> codes_of(const NodeView& n) {
  const bool makes = is_quantize(n);
  if (!makes && !is_dequantize(n)) return std::nullopt;
  const auto scale = n.has_input(1) ? n.graph.floats(n.input(1)) : std::nullopt;
  if (!scale || scale->empty()) return std::nullopt;
  const auto zero = zeros(n, scale->size());
  if (!zero) return std::nullopt;
  Codes c;
  c.value = makes ? n.output(0) : n.input(0);
  c.dtype = n.graph.dtype(c.value), c.scale = *scale, c.zero = *zero;
  c.block = n.integer("block_size", 0);
  // What only ever becomes floats. Quantizers give blocks of nothing but zeros a step of 0, and use the one code more below zero where the largest element is above it, by a step below 0.
  const bool any_sign = !makes && (c.block || is_packed(c.dtype));
  if (std::any_of(scale->begin(), scale->end(), [&](float s) { return !std::isfinite(s) || (!any_sign && !(s > 0)); })) return std::nullopt;
  const auto rank = static_cast<int64_t>(n.in_dims(0).size());
  const int64_t axis = n.integer("axis", 1);
  if (c.block || scale->size() > 1) c.axis = static_cast<int>(axis < 0 ? axis + rank : axis);
  return c;
}

std::optional<Codes> codes_behind(const GraphView& g, uint32_t value) {
  const auto maker = g.maker(value);
  return maker && is_dequantize(*maker) ? codes_of(*maker) : std::nullopt;
}

UnitInput input_of(const GraphView& g, uint32_t value) { return {value, value == OPTIMA_NONE ? std::nullopt : codes_behind(g, value)}; }

std::vector<float> real_numbers(const Codes& codes, const std::vector<int32_t>& numbers, const Dims& dims) {
  std::vector<float> out(static_cast<size_t>(count(dims)));
  each_step(codes, dims, [&](size_t i, size_t step) { out[i] = static_cast<float>(static_cast<double>(numbers[i]) - codes.zero[step]) * codes.scale[step]; });
  return out;
}

namespace {

/// The codes of a constant matrix on its way through DequantizeLinear and Transpose to a value.
std::optional<Codes> transposed_codes(const GraphView& g, uint32_t value) {
  const auto n = value == OPTIMA_NONE ? std::nullopt : g.maker(value);
  if (!n || !is_transpose(*n) || n->in_dims(0).size() != 2 || permutation_of(*n) != Dims{1, 0}) return std::nullopt;
  auto codes = codes_behind(g, n->input(0));
  return codes && g.is_constant(codes->value) ? codes : std::nullopt;
}

}  // namespace

Unit unit_around(const NodeView& op) {
  if (op.op() == "QLinearConv" || op.op() == "QLinearMatMul") return unit_of_codes(op);
  Unit u{op, {}, {}, {}, op.output(0)};
  for (uint32_t k = 0; k < op.input_count(); ++k) u.inputs.push_back(input_of(op.graph, op.input(k)));
  if (op.op() != "MatMul") return u;
  if (auto codes = transposed_codes(op.graph, op.input(1))) u.inputs[1].codes = std::move(codes), u.inputs[1].transposed = true;
  return u;
}

bool flips(int32_t dtype, const Target& target) { return dtype == (target.is_arm() ? OPTIMA_U8 : OPTIMA_I8); }

Codes as_last(Codes codes, const Target& target) {
  if (!flips(codes.dtype, target)) return codes;
  const bool to_signed = codes.dtype == OPTIMA_U8;
  codes.dtype = to_signed ? OPTIMA_I8 : OPTIMA_U8;
  for (int32_t& z : codes.zero) z += to_signed ? -128 : 128;
  return codes;
}

}  // namespace optima::llvm_cpu
