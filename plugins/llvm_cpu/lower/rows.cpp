// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: Softmax and normalizations.
#include <algorithm>

#include "plugins/llvm_cpu/compiler/work.hpp"
#include "plugins/llvm_cpu/kernels/norm.hpp"
#include "plugins/llvm_cpu/kernels/softmax.hpp"
#include "plugins/llvm_cpu/lower/parts/codes.hpp"
#include "plugins/llvm_cpu/lower/parts/shapes.hpp"

namespace optima::llvm_cpu {
namespace {

/// Units of rows that are worth handing over.
int64_t grain(int64_t row) { return std::max<int64_t>(1, 4096 / std::max<int64_t>(1, row)); }

/// Where rows come from and go to, as floats or codes.
struct Ends {
  Operand in, out, numbers{};
  k::RowEnds stored{k::Stored::Floats, k::Stored::Floats};
};
Ends float_ends(const NodeView& n, LowerContext& ctx) { return {ctx.read(n.input(0)), ctx.write(n.output(0))}; }

k::Stored stored_as(const std::optional<Codes>& codes) {
  return !codes ? k::Stored::Floats : codes->dtype == OPTIMA_U8 ? k::Stored::Unsigned : k::Stored::Signed;
}
Ends ends_of(const Unit& u, LowerContext& ctx) {
  const auto &from = u.inputs[0].codes, &to = u.output;
  std::vector<float> numbers(k::kRowNumbers, 0);
  if (from) numbers[0] = from->scale[0], numbers[1] = static_cast<float>(from->zero[0]);
  if (to) numbers[2] = to->scale[0], numbers[3] = 1 / to->scale[0], numbers[4] = static_cast<float>(to->zero[0]);
  return {ctx.read(stored_value(u.inputs[0])), ctx.write(u.out), ctx.bytes(raw_bytes(numbers)), {stored_as(from), stored_as(to)}};
}

AxisView softmax_view(const NodeView& n) {
  const Dims dims = n.in_dims(0);
  AxisView v = around(dims, axis_at(n.integer("axis", n.since() < 13 ? 1 : -1), dims.size()));
  if (n.since() < 13) v.len *= v.inner, v.inner = 1;  // the axis and all after it
  return v;
}

void emit_softmax(const NodeView& n, const Ends& ends, LowerContext& ctx) {
  const Dims dims = n.in_dims(0);
  const AxisView v = softmax_view(n);
  Op op;
  op.kernel = k::Softmax{.log = n.op() == "LogSoftmax", .len = v.len, .inner = v.inner, .ends = ends.stored};
  op.args = {ends.in, ends.out, ends.numbers};
  if (ends.stored.out != k::Stored::Floats) op.scratch_per_thread = static_cast<uint64_t>(v.len) * sizeof(float);
  op.units = count(dims) == 0 ? 0 : v.inner == 1 ? v.outer : v.outer * divide_up(v.inner, ctx.target().vector_width);
  op.work = v.outer * v.inner * (v.inner == 1 ? std::max(v.len, ctx.target().vector_width) : v.len) * work::kSoftmax;
  op.grain = v.inner == 1 ? grain(v.len * 4) : 1;
  op.label = std::string(n.op()) + " " + to_text(dims);
  ctx.emit(std::move(op));
}

void lower_softmax(std::span<const NodeView> nodes, LowerContext& ctx) { emit_softmax(nodes[0], float_ends(nodes[0], ctx), ctx); }

/// Rows of `len` elements; scale and bias as kernels/norm.hpp counts channels.
void emit_norm(const NodeView& n, const Ends& ends, bool rms, int64_t rows, int64_t len, int64_t period, int64_t channels, int64_t span,
               LowerContext& ctx) {
  const bool scale = n.has_input(1), bias = !rms && n.has_input(2);
  Op op;
  op.kernel = k::Norm{.rms = rms, .has_scale = scale, .has_bias = bias, .epsilon = n.real("epsilon", 1e-5f), .len = len, .period = period,
                      .channels = channels, .span = span, .ends = ends.stored};
  op.args = {ends.in, scale ? ctx.read(n.input(1)) : Operand(), bias ? ctx.read(n.input(2)) : Operand(), ends.out, ends.numbers};
  op.units = len == 0 ? 0 : rows;
  op.work = rows * len * work::kNormalized;
  op.grain = grain(len * 2);
  op.label = std::string(n.op()) + " " + to_text(n.in_dims(0));
  ctx.emit(std::move(op));
}

void emit_layer_norm(const NodeView& n, const Ends& ends, LowerContext& ctx) {
  const Dims dims = n.in_dims(0);
  const AxisView v = around(dims, axis_at(n.integer("axis", -1), dims.size()));
  const int64_t len = v.len * v.inner;
  emit_norm(n, ends, n.op() == "RMSNormalization", v.outer, len, 1, len, 1, ctx);
}
void lower_layer_norm(std::span<const NodeView> nodes, LowerContext& ctx) { emit_layer_norm(nodes[0], float_ends(nodes[0], ctx), ctx); }

/// Softmax of rows and layer normalization between codes of one scale; scale and bias are floats.
bool takes_unit(const Unit& u, const Target&) {
  const auto fits = [](const std::optional<Codes>& codes) { return !codes || is_simple(codes); };
  if (!u.tail.empty() || !fits(u.inputs[0].codes) || !fits(u.output)) return false;
  for (size_t k = 1; k < u.inputs.size(); ++k)
    if (u.inputs[k].codes && !u.op.graph.is_known(u.inputs[k].value)) return false;
  return !u.op.op().ends_with("Softmax") || softmax_view(u.op).inner == 1;
}
void lower_unit(const Unit& u, LowerContext& ctx) {
  if (u.op.op().ends_with("Softmax")) emit_softmax(u.op, ends_of(u, ctx), ctx);
  else emit_layer_norm(u.op, ends_of(u, ctx), ctx);
}

void lower_instance_norm(std::span<const NodeView> nodes, LowerContext& ctx) {
  const Dims d = nodes[0].in_dims(0);
  const int64_t space = count(d) / std::max<int64_t>(1, d[0] * d[1]);
  emit_norm(nodes[0], float_ends(nodes[0], ctx), false, d[0] * d[1], space, d[1], 1, space, ctx);
}

void lower_group_norm(std::span<const NodeView> nodes, LowerContext& ctx) {
  const NodeView& n = nodes[0];
  const Dims d = n.in_dims(0);
  const int64_t groups = n.integer("num_groups", 1), each = d[1] / groups, space = count(d) / std::max<int64_t>(1, d[0] * d[1]);
  // A span of 1 means that scales are read as vectors, which with one element per channel they are.
  emit_norm(n, float_ends(n, ctx), false, d[0] * groups, each * space, groups, each, space, ctx);
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
  op.work = count(dims) * work::kReduced;
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

constexpr Lowering kRowsFamily[] = {
    {"Softmax", 1, 13, {kFloat}, {kFloat}, 1, 8, 0, {}, check_same, lower_softmax, false, Tails::None, "", takes_unit, lower_unit},
    {"LogSoftmax", 1, 13, {kFloat}, {kFloat}, 1, 8, 0, {}, check_same, lower_softmax, false, Tails::None, "", takes_unit, lower_unit},
    {"LayerNormalization", 17, 17, {kFloat}, {kFloat}, 1, 8, 0, {2, 3, kInputs | out_bit(0), 3}, check_layer_norm, lower_layer_norm,
     false, Tails::None, "", takes_unit, lower_unit},
    {"RMSNormalization", 23, 23, {kFloat}, {kFloat}, 1, 8, 0, {2, 2, kBoth}, check_layer_norm, lower_layer_norm,
     false, Tails::None, "", takes_unit, lower_unit},
    {"InstanceNormalization", 6, 22, {kFloat}, {kFloat}, 3, 8, 0, {3, 3, kInputs | out_bit(0)}, check_instance_norm, lower_instance_norm},
    {"GroupNormalization", 21, 21, {kFloat}, {kFloat}, 3, 8, 0, {3, 3, kInputs | out_bit(0)}, check_group_norm, lower_group_norm},
    {"LpNormalization", 1, 22, {kFloat}, {kFloat}, 1, 8, 0, {}, check_lp, lower_lp},
    {"LRN", 1, 13, {kFloat}, {kFloat}, 3, 8, 0, {}, check_lrn, lower_lrn},
};

}  // namespace

Family rows_family() { return kRowsFamily; }

}  // namespace optima::llvm_cpu
