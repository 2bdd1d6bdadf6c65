// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: Softmax and normalizations.
#include <algorithm>

#include "plugins/llvm_cpu/kernels/norm.hpp"
#include "plugins/llvm_cpu/kernels/softmax.hpp"
#include "plugins/llvm_cpu/lower/parts/shapes.hpp"

namespace optima::llvm_cpu {
namespace {

/// Units of rows that are worth handing over.
int64_t grain(int64_t row) { return std::max<int64_t>(1, 4096 / std::max<int64_t>(1, row)); }

void lower_softmax(std::span<const NodeView> nodes, LowerContext& ctx) {
  const NodeView& n = nodes[0];
  const Dims dims = n.in_dims(0);
  AxisView v = around(dims, axis_at(n.integer("axis", n.since() < 13 ? 1 : -1), dims.size()));
  if (n.since() < 13) v.len *= v.inner, v.inner = 1;  // the axis and all after it
  Op op;
  op.kernel = k::Softmax{.log = n.op() == "LogSoftmax", .len = v.len, .inner = v.inner};
  op.args = {ctx.read(n.input(0)), ctx.write(n.output(0))};
  op.units = count(dims) == 0 ? 0 : v.inner == 1 ? v.outer : v.outer * divide_up(v.inner, ctx.target().vector_width);
  op.work = count(dims) * 8;
  op.grain = v.inner == 1 ? grain(v.len * 4) : 1;
  op.label = std::string(n.op()) + " " + to_text(dims);
  ctx.emit(std::move(op));
}

/// Rows of `len` elements; scale and bias as kernels/norm.hpp counts channels.
void emit_norm(const NodeView& n, bool rms, int64_t rows, int64_t len, int64_t period, int64_t channels, int64_t span, LowerContext& ctx) {
  const bool scale = n.has_input(1), bias = !rms && n.has_input(2);
  Op op;
  op.kernel = k::Norm{.rms = rms, .has_scale = scale, .has_bias = bias, .epsilon = n.real("epsilon", 1e-5f), .len = len, .period = period,
                      .channels = channels, .span = span};
  op.args = {ctx.read(n.input(0)), scale ? ctx.read(n.input(1)) : Operand(), bias ? ctx.read(n.input(2)) : Operand(), ctx.write(n.output(0))};
  op.units = len == 0 ? 0 : rows;
  op.work = rows * len * 4;
  op.grain = grain(len * 2);
  op.label = std::string(n.op()) + " " + to_text(n.in_dims(0));
  ctx.emit(std::move(op));
}

void lower_layer_norm(std::span<const NodeView> nodes, LowerContext& ctx) {
  const NodeView& n = nodes[0];
  const Dims dims = n.in_dims(0);
  const AxisView v = around(dims, axis_at(n.integer("axis", -1), dims.size()));
  const int64_t len = v.len * v.inner;
  emit_norm(n, n.op() == "RMSNormalization", v.outer, len, 1, len, 1, ctx);
}

void lower_instance_norm(std::span<const NodeView> nodes, LowerContext& ctx) {
  const Dims d = nodes[0].in_dims(0);
  const int64_t space = count(d) / std::max<int64_t>(1, d[0] * d[1]);
  emit_norm(nodes[0], false, d[0] * d[1], space, d[1], 1, space, ctx);
}

void lower_group_norm(std::span<const NodeView> nodes, LowerContext& ctx) {
  const NodeView& n = nodes[0];
  const Dims d = n.in_dims(0);
  const int64_t groups = n.integer("num_groups", 1), each = d[1] / groups, space = count(d) / std::max<int64_t>(1, d[0] * d[1]);
  // A span of 1 means that scales are read as vectors, which with one element per channel they are.
  emit_norm(n, false, d[0] * groups, each * space, groups, each, space, ctx);
}

/// The result has the operand's shape, and the axis is one of it.
Refusal check_same(const NodeView& n) {
  if (n.in_dims(0) != n.out_dims(0)) return wrong_shape(n, 0, to_text(n.out_dims(0)));
  return check_axis(n.integer("axis", n.since() < 13 && n.op().ends_with("Softmax") ? 1 : -1), n.in_dims(0).size());
}

Refusal check_instance_norm(const NodeView& n) {
  for (uint32_t k = 1; k < 3; ++k)
    if (count(n.in_dims(k)) != n.in_dims(0)[1]) return wrong_shape(n, k, "one value per channel");
  return check_same(n);
}

/// Scale and bias of exactly the normalized elements.
Refusal check_layer_norm(const NodeView& n) {
  if (const Refusal r = check_same(n)) return r;
  const Dims dims = n.in_dims(0);
  const AxisView v = around(dims, axis_at(n.integer("axis", -1), dims.size()));
  for (uint32_t k = 1; k < 3; ++k)
    if (n.has_input(k) && count(n.in_dims(k)) != v.len * v.inner)
      return {OPTIMA_REASON_OTHER, "input " + std::to_string(k), to_text(n.in_dims(k)), std::to_string(v.len * v.inner) + " elements"};
  if (n.integer("stash_type", 1) != 1) return {OPTIMA_REASON_ATTRIBUTE, "stash_type", std::to_string(n.integer("stash_type", 1)), "1"};
  return only_first_output(n);
}

Refusal check_group_norm(const NodeView& n) {
  const Dims d = n.in_dims(0);
  const int64_t groups = n.integer("num_groups", 1);
  if (groups < 1 || d[1] % groups) return {OPTIMA_REASON_ATTRIBUTE, "num_groups", std::to_string(groups), "a divisor of the channels"};
  for (uint32_t k = 1; k < 3; ++k)
    if (count(n.in_dims(k)) != d[1]) return wrong_shape(n, k, "one value per channel");
  return check_same(n);
}

void lower_lp(std::span<const NodeView> nodes, LowerContext& ctx) {
  const NodeView& n = nodes[0];
  const Dims dims = n.in_dims(0);
  const AxisView v = around(dims, axis_at(n.integer("axis", -1), dims.size()));
  Op op;
  op.kernel = k::LpNorm{.p = n.integer("p", 2), .len = v.len, .inner = v.inner};
  op.args = {ctx.read(n.input(0)), ctx.write(n.output(0))};
  op.units = count(dims) == 0 ? 0 : v.outer * divide_up(v.inner, ctx.target().vector_width);
  op.work = count(dims) * 2;
  ctx.emit(std::move(op));
}

Refusal check_lp(const NodeView& n) {
  const int64_t p = n.integer("p", 2);
  if (p != 1 && p != 2) return {OPTIMA_REASON_ATTRIBUTE, "p", std::to_string(p), "1 or 2"};
  return check_same(n);
}

void lower_lrn(std::span<const NodeView> nodes, LowerContext& ctx) {
  const NodeView& n = nodes[0];
  const Dims d = n.in_dims(0);
  Op op;
  op.kernel = k::Lrn{.size = n.integer("size", 1), .alpha = n.real("alpha", 1e-4f), .beta = n.real("beta", 0.75f), .bias = n.real("bias", 1),
                     .channels = d[1], .inner = count(d) / std::max<int64_t>(1, d[0] * d[1])};
  op.args = {ctx.read(n.input(0)), ctx.write(n.output(0))};
  op.units = count(d) == 0 ? 0 : d[0] * d[1];
  op.work = count(d) * (n.integer("size", 1) + 4);
  ctx.emit(std::move(op));
}

Refusal check_lrn(const NodeView& n) {
  const int64_t size = n.integer("size", 0);
  if (size < 1 || size > 1 << 24) return {OPTIMA_REASON_ATTRIBUTE, "size", std::to_string(size), "within [1, 2^24]"};
  return check_same(n);
}

constexpr Lowering kRows[] = {
    {"Softmax", 1, 13, {kFloat}, {kFloat}, 1, 8, 0, {}, check_same, lower_softmax},
    {"LogSoftmax", 1, 13, {kFloat}, {kFloat}, 1, 8, 0, {}, check_same, lower_softmax},
    {"LayerNormalization", 17, 17, {kFloat}, {kFloat}, 1, 8, 0, {2, 3, kInputs | out_bit(0), 3}, check_layer_norm, lower_layer_norm},
    {"RMSNormalization", 23, 23, {kFloat}, {kFloat}, 1, 8, 0, {2, 2, kBoth}, check_layer_norm, lower_layer_norm},
    {"InstanceNormalization", 6, 22, {kFloat}, {kFloat}, 3, 8, 0, {3, 3, kInputs | out_bit(0)}, check_instance_norm, lower_instance_norm},
    {"GroupNormalization", 21, 21, {kFloat}, {kFloat}, 3, 8, 0, {3, 3, kInputs | out_bit(0)}, check_group_norm, lower_group_norm},
    {"LpNormalization", 1, 22, {kFloat}, {kFloat}, 1, 8, 0, {}, check_lp, lower_lp},
    {"LRN", 1, 13, {kFloat}, {kFloat}, 3, 8, 0, {}, check_lrn, lower_lrn},
};

}  // namespace

Family rows_family() { return kRows; }

}  // namespace optima::llvm_cpu
