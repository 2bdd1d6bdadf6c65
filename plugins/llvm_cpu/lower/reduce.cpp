// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: reductions, ArgMax, ArgMin, TopK, CumSum.
#include <algorithm>

#include "plugins/llvm_cpu/kernels/reduce.hpp"
#include "plugins/llvm_cpu/compiler/work.hpp"
#include "plugins/llvm_cpu/kernels/scan.hpp"
#include "plugins/llvm_cpu/lower/parts/program.hpp"
#include "plugins/llvm_cpu/lower/parts/pool_codes.hpp"
#include "plugins/llvm_cpu/lower/parts/shapes.hpp"

namespace optima::llvm_cpu {
namespace {

constexpr Named<k::ReduceOp> kReductions[] = {
    {"ReduceSum", k::ReduceOp::Sum}, {"ReduceMean", k::ReduceOp::Mean}, {"ReduceMax", k::ReduceOp::Max}, {"ReduceMin", k::ReduceOp::Min},
    {"ReduceProd", k::ReduceOp::Prod}, {"ReduceL1", k::ReduceOp::L1}, {"ReduceL2", k::ReduceOp::L2}, {"ReduceSumSquare", k::ReduceOp::SumSquare},
    {"ReduceLogSum", k::ReduceOp::LogSum}, {"ReduceLogSumExp", k::ReduceOp::LogSumExp}};

/// Up to four kept and four reduced dims, outermost first, filled with 1.
struct Split {
  std::vector<int64_t> kept, kept_step, gone, gone_step;
  bool last_gone = false;

  void pad() {
    for (auto* v : {&kept, &gone}) v->insert(v->begin(), 4 - std::min<size_t>(4, v->size()), 1);
    for (auto* v : {&kept_step, &gone_step}) v->insert(v->begin(), 4 - std::min<size_t>(4, v->size()), 0);
  }
};

std::vector<bool> reduced(const NodeView& n) {
  const size_t rank = n.in_dims(0).size();
  const std::vector<int64_t> axes = *axes_of(n);
  std::vector<bool> out(rank, axes.empty() && !n.integer("noop_with_empty_axes", 0));
  for (const int64_t a : axes) out[axis_at(a, rank)] = true;
  return out;
}

Split split(const Dims& dims, const std::vector<bool>& gone) {
  const Dims step = row_major(dims);
  Split s;
  int before = -1;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] == 1) continue;
    auto& sizes = gone[d] ? s.gone : s.kept;
    auto& steps = gone[d] ? s.gone_step : s.kept_step;
    if (before == gone[d]) sizes.back() *= dims[d], steps.back() = step[d];
    else sizes.push_back(dims[d]), steps.push_back(step[d]);
    before = gone[d];
  }
  s.last_gone = before == 1;
  return s;
}

k::ReduceOp reduction_of(const NodeView& n) { return *find_named(kReductions, n.op()); }

/// All pixels of each channel of a blocked tensor, as squeeze-and-excite nets ask for: the layout stays.
bool reduces_pixels(const NodeView& n, const LowerContext& ctx) {
  const Dims in = n.in_dims(0);
  const std::vector<bool> gone = reduced(n);
  if (in.size() < 3 || in.size() > 5 || n.out_dims(0).size() != in.size() || ctx.layout(n.input(0)) != Layout::Blocked) return false;
  for (size_t d = 0; d < in.size(); ++d)
    if (gone[d] != (d >= 2)) return false;
  return n.in_dtype(0) == OPTIMA_F32;
}
void lower_pixels(const NodeView& n, LowerContext& ctx) {
  const Dims in = n.in_dims(0);
  const int64_t vl = ctx.target().vector_width, planes = in[0] * divide_up(in[1], vl), pixels = count(in) / (in[0] * in[1]);
  Op op;
  op.kernel = k::Reduce{.op = reduction_of(n), .dims = {.kept = {1, 1, planes, vl}, .kept_step = {0, 0, pixels * vl, 1}, .gone = {1, 1, 1, pixels},
                                                      .gone_step = {0, 0, 0, vl}}};
  op.args = {ctx.read(n.input(0), Layout::Blocked), ctx.write(n.output(0), Layout::Blocked)};
  op.units = planes;
  op.work = planes * pixels * vl * work::kReduced;
  op.label = std::string(n.op()) + " " + to_text(in) + " blocked";
  ctx.emit(std::move(op));
}

void lower_reduce(std::span<const NodeView> nodes, LowerContext& ctx) {
  const NodeView& n = nodes[0];
  if (reduces_pixels(n, ctx)) return lower_pixels(n, ctx);
  const Dims dims = n.in_dims(0);
  const int64_t vl = ctx.target().vector_width;
  Split s = split(dims, reduced(n));
  const bool last = s.last_gone || s.kept.empty();  // vectors run along a reduced dim; then the last kept dim must be 1
  if (last && s.gone.empty()) s.gone = {1}, s.gone_step = {1};
  if (last) s.kept.push_back(1), s.kept_step.push_back(0);
  s.pad();
  if (last) s.gone_step[3] = 1;
  const int64_t outputs = count(s.kept);
  const k::ReduceDims d{.kept = literal<4>(s.kept, 1), .kept_step = literal<4>(s.kept_step, 0), .gone = literal<4>(s.gone, 1), .gone_step = literal<4>(s.gone_step, 0)};
  Op op;
  if (n.in_dtype(0) == OPTIMA_F32) {
    op.kernel = k::Reduce{.op = reduction_of(n), .dims = d};
    op.units = last ? outputs : outputs / s.kept[3] * divide_up(s.kept[3], vl);
  } else {
    op.kernel = k::ReduceAny{.dtype = n.in_dtype(0), .op = reduction_of(n), .dims = d};
    op.units = outputs;
  }
  op.args = {ctx.read(n.input(0)), ctx.write(n.output(0))};
  op.work = count(dims) * work::kReduced;
  op.grain = std::max<int64_t>(1, 4096 / std::max<int64_t>(1, count(dims) / std::max<int64_t>(1, op.units)));
  op.label = std::string(n.op()) + " " + to_text(dims);
  ctx.emit(std::move(op));
}

Refusal check_reduce(const NodeView& n) {
  const auto axes = axes_of(n);
  if (!axes) return needs_constant(1);
  const Dims dims = n.in_dims(0);
  for (const int64_t a : *axes)
    if (const Refusal r = check_axis(a, dims.size())) return r;
  for (const int64_t d : dims)
    if (d == 0) return {OPTIMA_REASON_SIZE_LIMIT, "input 0", to_text(dims), "not empty"};
  const Split s = split(dims, reduced(n));
  if (count(n.out_dims(0)) != count(s.kept)) return wrong_shape(n, 0, "the shape of the result without its axes");
  const size_t most_kept = s.last_gone ? 3 : 4;
  if (s.kept.size() > most_kept || s.gone.size() > 4) return {OPTIMA_REASON_RANK, "axes", "alternating too often", "at most 4 runs of reduced dims"};
  const k::ReduceOp op = reduction_of(n);
  const bool real = op == k::ReduceOp::L2 || op == k::ReduceOp::LogSum || op == k::ReduceOp::LogSumExp;
  if (real && n.in_dtype(0) != OPTIMA_F32) return {OPTIMA_REASON_DTYPE, "input 0", "not f32", "f32"};
  return {};
}

// ---- along one axis

void lower_arg(std::span<const NodeView> nodes, LowerContext& ctx) {
  const NodeView& n = nodes[0];
  const Dims dims = n.in_dims(0);
  const AxisView v = around(dims, axis_at(n.integer("axis", 0), dims.size()));
  Op op;
  op.kernel = k::Arg{.dtype = n.in_dtype(0), .smallest = n.op() == "ArgMin", .last = n.integer("select_last_index", 0), .len = v.len, .inner = v.inner};
  op.args = {ctx.read(n.input(0)), ctx.write(n.output(0))};
  op.units = v.outer * divide_up(v.inner, k::kArgPiece);
  op.work = count(dims) * work::kReduced;
  ctx.emit(std::move(op));
}

void lower_top(std::span<const NodeView> nodes, LowerContext& ctx) {
  const NodeView& n = nodes[0];
  const Dims dims = n.in_dims(0);
  const size_t axis = axis_at(n.integer("axis", -1), dims.size());
  const AxisView v = around(dims, axis);
  const Dims out = n.has_output(0) ? n.out_dims(0) : n.out_dims(1);
  const auto room = [&](uint32_t k, int32_t dtype) {
    if (n.has_output(k)) return ctx.write(n.output(k));
    Operand spare = ctx.temporary(static_cast<uint64_t>(count(out) * element_bytes(dtype)));
    spare.written = true;
    return spare;
  };
  Op op;
  op.kernel = k::Top{.dtype = n.in_dtype(0), .smallest = !n.integer("largest", 1), .count = out[axis], .len = v.len, .inner = v.inner};
  op.args = {ctx.read(n.input(0)), room(0, n.in_dtype(0)), room(1, OPTIMA_I64)};
  op.units = count(out) == 0 ? 0 : v.outer * v.inner;
  op.work = count(dims) * work::kMoved;
  ctx.emit(std::move(op));
}

void lower_cumsum(std::span<const NodeView> nodes, LowerContext& ctx) {
  const NodeView& n = nodes[0];
  const Dims dims = n.in_dims(0);
  const AxisView v = around(dims, axis_at((*n.graph.integers(n.input(1)))[0], dims.size()));
  Op op;
  op.kernel = k::CumSum{.dtype = n.in_dtype(0), .exclusive = n.integer("exclusive", 0), .reverse = n.integer("reverse", 0), .len = v.len, .inner = v.inner};
  op.args = {ctx.read(n.input(0)), ctx.write(n.output(0))};
  op.units = count(dims) == 0 ? 0 : v.outer * divide_up(v.inner, k::kArgPiece);
  op.work = count(dims) * work::kReduced;
  ctx.emit(std::move(op));
}

Refusal check_axis_constant(const NodeView& n) {
  const auto axis = n.graph.integers(n.input(1));
  if (!axis || axis->size() != 1) return needs_constant(1);
  if (n.in_dims(0) != n.out_dims(0)) return wrong_shape(n, 0, to_text(n.out_dims(0)));
  return check_axis((*axis)[0], n.in_dims(0).size());
}
Refusal check_top(const NodeView& n) {
  const Dims in = n.in_dims(0), out = n.has_output(0) ? n.out_dims(0) : n.out_dims(1);
  const int64_t axis = n.integer("axis", -1);
  if (const Refusal r = check_axis(axis, in.size())) return r;
  Dims want = in;
  const size_t at = axis_at(axis, in.size());
  if (out.size() == in.size()) want[at] = std::min(in[at], out[at]);
  if (n.has_output(0) && n.has_output(1) && n.out_dims(1) != out) return {OPTIMA_REASON_OTHER, "output 1", to_text(n.out_dims(1)), to_text(out) + " as output 0"};
  return out == want ? Refusal() : wrong_shape(n, 0, to_text(out) + " but longer on the axis");
}
Refusal check_arg(const NodeView& n) {
  const Dims dims = n.in_dims(0);
  if (const Refusal r = check_axis(n.integer("axis", 0), dims.size())) return r;
  const AxisView v = around(dims, axis_at(n.integer("axis", 0), dims.size()));
  if (count(n.out_dims(0)) != v.outer * v.inner) return wrong_shape(n, 0, "the shape of the result and its axis");
  if (dims[axis_at(n.integer("axis", 0), dims.size())] == 0) return {OPTIMA_REASON_SIZE_LIMIT, "input 0", to_text(dims), "not empty"};
  return {};
}

}  // namespace

Family reduce_family() {
  static const std::vector<Lowering> rows = [] {
    std::vector<Lowering> out;
    for (const auto& r : kReductions)
      out.push_back({r.name, 1, 20, {kCounted, kIndex}, {kCounted}, 0, 8, 0, {1, 2}, check_reduce, lower_reduce});
    const auto mean = std::find_if(out.begin(), out.end(), [](const Lowering& row) { return row.op == "ReduceMean"; });
    mean->takes_unit = takes_pool_codes, mean->lower_unit = lower_pool_codes;
    for (const std::string_view name : {"ArgMax", "ArgMin"})
      out.push_back({name, 1, 13, {kCounted}, {types(OPTIMA_I64)}, 1, 8, 0, {1, 1, 0}, check_arg, lower_arg});
    out.push_back({"TopK", 10, 24, {kCounted, kIndex}, {kCounted, types(OPTIMA_I64)}, 1, 8, 0, {2, 2, kThrough, 2, true}, check_top, lower_top});
    out.push_back({"CumSum", 11, 14, {kCounted, kIndex}, {kCounted}, 1, 8, 0b10, {2, 2}, check_axis_constant, lower_cumsum});
    return out;
  }();
  return rows;
}

}  // namespace optima::llvm_cpu
