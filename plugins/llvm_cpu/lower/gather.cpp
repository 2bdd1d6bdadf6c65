// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: Gather, GatherElements, GatherND, ScatterElements, ScatterND, TensorScatter, OneHot.
#include <algorithm>
#include <utility>

#include "plugins/llvm_cpu/kernels/gather.hpp"
#include "plugins/llvm_cpu/compiler/work.hpp"
#include "plugins/llvm_cpu/kernels/move.hpp"
#include "plugins/llvm_cpu/lower/parts/copy.hpp"
#include "plugins/llvm_cpu/lower/parts/program.hpp"
#include "plugins/llvm_cpu/lower/parts/shapes.hpp"

namespace optima::llvm_cpu {
namespace {

/// Dims of the indices fit in those of data, but on the axis.
Refusal check_inside(const NodeView& n) {
  const Dims data = n.in_dims(0), indices = n.in_dims(1);
  const size_t axis = axis_at(n.integer("axis", 0), data.size());
  for (size_t d = 0; d < data.size(); ++d)
    if (indices.size() != data.size() || (d != axis && indices[d] > data[d])) return wrong_shape(n, 1, "within " + to_text(data));
  return {};
}

void lower_gather(std::span<const NodeView> nodes, LowerContext& ctx) {
  const NodeView& n = nodes[0];
  const Dims data = n.in_dims(0);
  const AxisView v = around(data, axis_at(n.integer("axis", 0), data.size()));
  const int64_t indices = count(n.in_dims(1)), pieces = v.outer * indices, rows = std::max<int64_t>(1, 4096 / std::max<int64_t>(1, v.inner));
  Op op;
  op.kernel = k::Gather{.bytes = element_bytes(n.in_dtype(0)), .index_bytes = element_bytes(n.in_dtype(1)), .rows = rows, .outer = v.outer,
                        .size = v.len, .count = indices, .inner = v.inner};
  op.args = {ctx.read(n.input(0)), ctx.read(n.input(1)), ctx.write(n.output(0))};
  op.units = v.inner == 0 ? 0 : divide_up(pieces, rows);
  op.work = pieces * v.inner * work::kMoved;
  op.label = "gather " + to_text(n.out_dims(0));
  ctx.emit(std::move(op));
}

Refusal check_gather(const NodeView& n) {
  const Dims data = n.in_dims(0), indices = n.in_dims(1);
  if (const Refusal r = check_axis(n.integer("axis", 0), data.size())) return r;
  const AxisView v = around(data, axis_at(n.integer("axis", 0), data.size()));
  const bool whole = n.op() == "Gather";
  if (count(n.out_dims(0)) != (whole ? v.outer * count(indices) * v.inner : count(indices))) return wrong_shape(n, 1, "what the result says");
  if (!whole) if (const Refusal r = check_inside(n)) return r;
  if (data[axis_at(n.integer("axis", 0), data.size())] == 0 && count(n.out_dims(0)) > 0)
    return {OPTIMA_REASON_SIZE_LIMIT, "input 0", to_text(data), "not empty on the axis"};
  return {};
}

/// Size and step of the axis, and the steps of data elsewhere.
struct Along {
  int64_t size, step;
  Dims steps;
};
Along along_axis(const NodeView& n) {
  const Dims data = n.in_dims(0);
  Dims steps = row_major(data);
  const size_t axis = axis_at(n.integer("axis", 0), data.size());
  const int64_t step = std::exchange(steps[axis], 0);
  return {data[axis], step, steps};
}

void lower_gather_elements(std::span<const NodeView> nodes, LowerContext& ctx) {
  const NodeView& n = nodes[0];
  const int64_t chunk = 2048, elements = count(n.in_dims(1));
  Op op;
  const Along a = along_axis(n);
  op.kernel = k::GatherElements{.bytes = element_bytes(n.in_dtype(0)), .index_bytes = element_bytes(n.in_dtype(1)), .chunk = chunk, .size = a.size,
                                .step = a.step, .d = literal<8>(n.in_dims(1), 1), .s = literal<8>(a.steps, 0)};
  op.args = {ctx.read(n.input(0)), ctx.read(n.input(1)), ctx.write(n.output(0))};
  op.units = divide_up(elements, chunk);
  op.work = elements * work::kMoved;
  ctx.emit(std::move(op));
}

std::optional<k::ScatterOp> reduction(const NodeView& n) {
  using enum k::ScatterOp;
  constexpr Named<k::ScatterOp> kAll[] = {{"none", Set}, {"add", Add}, {"mul", Mul}, {"max", Max}, {"min", Min}};
  return find_named(kAll, n.text("reduction", "none"));
}

/// The type by which updates are joined: only their size matters when they replace.
int64_t joined_type(const NodeView& n) {
  if (reduction(n) != k::ScatterOp::Set) return n.in_dtype(0);
  constexpr int64_t kBySize[] = {0, OPTIMA_U8, 0, 0, OPTIMA_I32, 0, 0, 0, OPTIMA_I64};
  return kBySize[element_bytes(n.in_dtype(0))];
}

/// The output holds a copy of data, which is nothing to do where both are one place (runtime/in_place.hpp).
Operand copy_of_data(const NodeView& n, LowerContext& ctx) {
  const Dims d = n.in_dims(0);
  const Operand to = ctx.write(n.output(0));
  emit_copy_bytes(count(d) * element_bytes(n.in_dtype(0)), ctx.read(n.input(0)), to, "copy " + to_text(d), ctx);
  return to;
}

/// Lanes of a unit of a scatter, of which each has `updates`: whole vectors, so that threads do not share many lines.
int64_t lanes_of_unit(int64_t updates) { return divide_up(divide_up(4096, std::max<int64_t>(1, updates)), 16) * 16; }

/// output = data, then the updates: those that may meet one by one, `units` of others at a time.
void emit_scatter(const NodeView& n, Op op, int64_t units, LowerContext& ctx) {
  const Operand to = copy_of_data(n, ctx);
  op.args = {ctx.read(n.input(1)), ctx.read(n.input(2)), to};
  op.units = count(n.in_dims(2)) ? units : 0;
  op.work = count(n.in_dims(2)) * work::kMoved;
  ctx.emit(std::move(op));
}

void lower_scatter_elements(std::span<const NodeView> nodes, LowerContext& ctx) {
  const NodeView& n = nodes[0];
  Op op;
  const Along a = along_axis(n);
  const Dims indices = n.in_dims(1);
  const size_t axis = axis_at(n.integer("axis", 0), indices.size());
  const AxisView v = around(indices, axis);
  const int64_t chunk = lanes_of_unit(v.len);
  op.kernel = k::ScatterElements{.dtype = joined_type(n), .index_bytes = element_bytes(n.in_dtype(1)), .op = *reduction(n),
                                 .axis = static_cast<int64_t>(axis + 8 - indices.size()), .chunk = chunk, .size = a.size, .step = a.step,
                                 .d = literal<8>(indices, 1), .s = literal<8>(a.steps, 0)};
  emit_scatter(n, std::move(op), divide_up(v.outer * v.inner, chunk), ctx);
}

/// Dims, or steps, of data that a tuple of `width` indices names, after `skip` batch dims.
k::List<4> of_tuple(const Dims& all, size_t skip, size_t width, int64_t fill) {
  k::List<4> out{fill, fill, fill, fill};
  for (size_t i = 0; i < width; ++i) out.at[i] = all[skip + i];
  return out;
}

int64_t tail_size(const Dims& d, size_t from) { return count(Dims(d.begin() + static_cast<std::ptrdiff_t>(from), d.end())); }

void lower_gather_nd(std::span<const NodeView> nodes, LowerContext& ctx) {
  const NodeView& n = nodes[0];
  const Dims data = n.in_dims(0), indices = n.in_dims(1);
  const size_t skip = static_cast<size_t>(n.integer("batch_dims", 0)), width = static_cast<size_t>(indices.back());
  const int64_t batches = count(Dims(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(skip)));
  const int64_t tuples = count(indices) / std::max<int64_t>(1, indices.back()), each = tuples / std::max<int64_t>(1, batches);
  const int64_t inner = tail_size(data, skip + width);
  Op op;
  op.kernel = k::GatherNd{.bytes = element_bytes(n.in_dtype(0)), .index_bytes = element_bytes(n.in_dtype(1)), .count = each,
                          .batch = tail_size(data, skip), .inner = inner, .tuple = indices.back(), .g = of_tuple(data, skip, width, 1),
                          .p = of_tuple(row_major(data), skip, width, 0)};
  op.args = {ctx.read(n.input(0)), ctx.read(n.input(1)), ctx.write(n.output(0))};
  op.units = inner == 0 ? 0 : tuples;
  op.work = tuples * inner * work::kMoved;
  op.grain = std::max<int64_t>(1, 4096 / std::max<int64_t>(1, inner));
  ctx.emit(std::move(op));
}

void lower_scatter_nd(std::span<const NodeView> nodes, LowerContext& ctx) {
  const NodeView& n = nodes[0];
  const Dims data = n.in_dims(0), indices = n.in_dims(1);
  const size_t width = static_cast<size_t>(indices.back());
  const int64_t tuples = count(indices) / std::max<int64_t>(1, indices.back()), inner = tail_size(data, width), chunk = lanes_of_unit(tuples);
  Op op;
  op.kernel = k::ScatterNd{.dtype = joined_type(n), .index_bytes = element_bytes(n.in_dtype(1)), .op = *reduction(n), .chunk = chunk, .count = tuples,
                           .inner = inner, .tuple = indices.back(), .g = of_tuple(data, 0, width, 1), .p = of_tuple(row_major(data), 0, width, 0)};
  emit_scatter(n, std::move(op), divide_up(inner, chunk), ctx);
}

void lower_tensor_scatter(std::span<const NodeView> nodes, LowerContext& ctx) {
  const NodeView& n = nodes[0];
  const Dims data = n.in_dims(0), updates = n.in_dims(1);
  const size_t axis = axis_at(n.integer("axis", -2), data.size());
  const int64_t outer = count(Dims(data.begin() + 1, data.begin() + static_cast<std::ptrdiff_t>(axis))), inner = tail_size(data, axis + 1);
  Op op;
  op.kernel = k::TensorScatter{.bytes = element_bytes(n.in_dtype(0)), .has_begin = n.has_input(2), .circular = n.text("mode", "linear") == "circular", .outer = outer,
                               .size = data[axis], .rows = updates[axis], .inner = inner};
  const Operand to = copy_of_data(n, ctx);
  op.args = {n.has_input(2) ? ctx.read(n.input(2)) : LowerContext::null(), ctx.read(n.input(1)), to};
  op.units = count(updates) ? data[0] * outer : 0;
  op.work = count(updates) * work::kMoved;
  ctx.emit(std::move(op));
}

Refusal check_tensor_scatter(const NodeView& n) {
  const Dims data = n.in_dims(0);
  if (const Refusal r = check_axis(n.integer("axis", -2), data.size())) return r;
  const size_t axis = axis_at(n.integer("axis", -2), data.size());
  if (axis == 0) return {OPTIMA_REASON_ATTRIBUTE, "axis", "0", "not the batch"};
  if (n.text("mode", "linear") != "linear" && n.text("mode", "linear") != "circular") return {OPTIMA_REASON_ATTRIBUTE, "mode", std::string(n.text("mode", "")), "linear or circular"};
  if (n.out_dims(0) != data) return wrong_shape(n, 0, to_text(n.out_dims(0)));
  Dims same = n.in_dims(1);
  if (same.size() == data.size()) same[axis] = data[axis];
  if (same != data) return wrong_shape(n, 1, "that of input 0 but for the axis");
  if (n.has_input(2) && n.in_dims(2) != Dims{data[0]}) return wrong_shape(n, 2, to_text({data[0]}));
  if (data[axis] == 0 && count(n.in_dims(1)) > 0) return {OPTIMA_REASON_SIZE_LIMIT, "input 0", to_text(data), "not empty on the axis"};
  return {};
}

Refusal check_tuple(const NodeView& n) {
  if (n.in_dims(1).empty()) return {OPTIMA_REASON_RANK, "rank of input 1", "0", "1 or more"};
  const int64_t width = n.in_dims(1).back();
  if (width > 4 || width < 1) return {OPTIMA_REASON_SIZE_LIMIT, "input 1", to_text(n.in_dims(1)), "tuples of 1 to 4 indices"};
  if (count(n.in_dims(0)) == 0) return {OPTIMA_REASON_SIZE_LIMIT, "input 0", to_text(n.in_dims(0)), "not empty"};
  const Dims data = n.in_dims(0), indices = n.in_dims(1);
  const int64_t skip = n.op() == "GatherND" ? n.integer("batch_dims", 0) : 0, rank = static_cast<int64_t>(data.size());
  if (skip < 0 || skip >= static_cast<int64_t>(indices.size()) || skip + width > rank)
    return {OPTIMA_REASON_ATTRIBUTE, "batch_dims", std::to_string(skip), "fewer than the dims of both operands, with those of a tuple"};
  for (int64_t d = 0; d < skip; ++d)
    if (indices[static_cast<size_t>(d)] != data[static_cast<size_t>(d)]) return wrong_shape(n, 1, "the batch dims of input 0");
  const int64_t results = count(indices) / width * tail_size(data, static_cast<size_t>(skip + width));
  if (n.op() == "GatherND" && count(n.out_dims(0)) != results) return wrong_shape(n, 1, "what the result says");
  if (n.op() == "ScatterND" && count(n.in_dims(2)) != results) return wrong_shape(n, 2, std::to_string(results) + " elements");
  return {};
}
/// Updates replace elements of 1, 4 or 8 bytes; to be joined they must be of a type that templates count with.
Refusal check_scatter(const NodeView& n) {
  const bool counted = kCounted >> n.in_dtype(0) & 1;
  if (!reduction(n)) return {OPTIMA_REASON_ATTRIBUTE, "reduction", std::string(n.text("reduction", "")), "none, add, mul, max or min"};
  if (reduction(n) != k::ScatterOp::Set && !counted) return {OPTIMA_REASON_DTYPE, "input 0", "dtype " + std::to_string(n.in_dtype(0)), "f32, f64, i8, u8, i32 or i64"};
  if (n.in_dims(0) != n.out_dims(0)) return wrong_shape(n, 0, to_text(n.out_dims(0)));
  if (n.op() == "ScatterElements") {
    if (const Refusal r = check_axis(n.integer("axis", 0), n.in_dims(0).size())) return r;
    if (const Refusal r = check_inside(n)) return r;
    if (n.in_dims(1) != n.in_dims(2)) return wrong_shape(n, 2, to_text(n.in_dims(1)));
    if (count(n.in_dims(0)) == 0) return {OPTIMA_REASON_SIZE_LIMIT, "input 0", to_text(n.in_dims(0)), "not empty"};
  }
  if (element_bytes(n.in_dtype(0)) == 2) return {OPTIMA_REASON_DTYPE, "input 0", "2 bytes", "1, 4 or 8 bytes"};
  return {};
}
Refusal check_scatter_nd(const NodeView& n) {
  const Refusal r = check_tuple(n);
  return r ? r : check_scatter(n);
}

void lower_one_hot(std::span<const NodeView> nodes, LowerContext& ctx) {
  const NodeView& n = nodes[0];
  const Dims out = n.out_dims(0);
  const AxisView v = around(out, axis_at(n.integer("axis", -1), out.size()));
  Op op;
  op.kernel = k::OneHot{.bytes = element_bytes(n.out_dtype(0)), .index_bytes = element_bytes(n.in_dtype(0)), .depth = v.len, .inner = v.inner};
  op.args = {ctx.read(n.input(0)), ctx.read(n.input(2)), ctx.write(n.output(0))};
  op.units = count(out) == 0 ? 0 : v.outer;
  op.work = count(out);
  ctx.emit(std::move(op));
}

Refusal check_one_hot(const NodeView& n) {
  const Dims out = n.out_dims(0);
  if (const Refusal r = check_axis(n.integer("axis", -1), out.size())) return r;
  const AxisView v = around(out, axis_at(n.integer("axis", -1), out.size()));
  if (count(n.in_dims(0)) != v.outer * v.inner) return wrong_shape(n, 0, "the shape of the result without its axis");
  return count(n.in_dims(2)) == 2 ? Refusal() : wrong_shape(n, 2, "[2]");
}

constexpr Lowering kGatherFamily[] = {
    {"Gather", 1, 13, {kBytes, kIndex}, {kBytes}, 1, 8, 0, {2, 2}, check_gather, lower_gather},
    {"GatherElements", 11, 13, {kBytes, kIndex}, {kBytes}, 1, 8, 0, {2, 2}, check_gather, lower_gather_elements},
    {"GatherND", 11, 13, {kBytes, kIndex}, {kBytes}, 1, 8, 0, {2, 2}, check_tuple, lower_gather_nd},
    {"ScatterElements", 11, 18, {kBytes, kIndex, kBytes}, {kBytes}, 1, 8, 0, {3, 3, in_bit(0) | in_bit(2) | out_bit(0)}, check_scatter, lower_scatter_elements},
    {"ScatterND", 11, 18, {kBytes, kIndex, kBytes}, {kBytes}, 1, 8, 0, {3, 3, in_bit(0) | in_bit(2) | out_bit(0)}, check_scatter_nd, lower_scatter_nd},
    {"TensorScatter", 24, 24, {kBytes, kBytes, kLongs}, {kBytes}, 2, 8, 0, {2, 3, in_bit(0) | in_bit(1) | out_bit(0)}, check_tensor_scatter, lower_tensor_scatter},
    {"OneHot", 9, 11, {kIndex, kBytes, kBytes}, {kBytes}, 0, 7, 0, {3, 3, in_bit(2) | out_bit(0)}, check_one_hot, lower_one_hot},
};

}  // namespace

Family gather_family() { return kGatherFamily; }

}  // namespace optima::llvm_cpu
