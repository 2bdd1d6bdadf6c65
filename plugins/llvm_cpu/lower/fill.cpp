// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: Pad, Trilu, Range, ConstantOfShape, Shape, Size.
#include <algorithm>

#include "plugins/llvm_cpu/kernels/gather.hpp"
#include "plugins/llvm_cpu/kernels/move.hpp"
#include "plugins/llvm_cpu/lower/parts/copy.hpp"
#include "plugins/llvm_cpu/lower/parts/last.hpp"
#include "plugins/llvm_cpu/lower/parts/moved.hpp"
#include "plugins/llvm_cpu/lower/parts/program.hpp"
#include "plugins/llvm_cpu/lower/parts/shapes.hpp"
#include "plugins/llvm_cpu/lower/parts/table.hpp"

namespace optima::llvm_cpu {
namespace {

void emit_fill(const Operand& element, const Operand& to, int64_t bytes, int64_t elements, LowerContext& ctx) {
  const int64_t chunk = 8192;
  Op op;
  op.kernel = k::Fill{.bytes = bytes, .count = elements, .chunk = chunk};
  op.args = {element, to};
  op.units = divide_up(elements, chunk);
  op.work = elements;
  op.label = "fill";
  ctx.emit(std::move(op));
}

// ---- Pad

/// Elements added before and after each dim; negative ones cut.
struct Padding {
  Dims before, after;
};

std::optional<Padding> padding_of(const NodeView& n) {
  const size_t rank = n.in_dims(0).size();
  const auto pads = n.graph.integers(n.input(1));
  if (!pads) return std::nullopt;
  std::vector<int64_t> axes;
  for (size_t d = 0; d < rank; ++d) axes.push_back(static_cast<int64_t>(d));
  if (n.has_input(3)) {
    const auto given = n.graph.integers(n.input(3));
    if (!given) return std::nullopt;
    axes = *given;
  }
  if (pads->size() != 2 * axes.size()) return std::nullopt;
  Padding p{Dims(rank, 0), Dims(rank, 0)};
  for (size_t i = 0; i < axes.size(); ++i) {
    constexpr int64_t kMost = int64_t{1} << 31;
    const int64_t before = (*pads)[i], after = (*pads)[i + axes.size()];
    if (check_axis(axes[i], rank) || before < -kMost || before > kMost || after < -kMost || after > kMost) return std::nullopt;
    const size_t axis = axis_at(axes[i], rank);
    p.before[axis] = before, p.after[axis] = after;
  }
  return p;
}

/// `value`: one element, as it lies in the layout, which is plain or channels last.
void pad_with(const NodeView& n, const Padding& p, const Operand& value, Layout layout, LowerContext& ctx) {
  const bool last = layout == Layout::Last;
  const Dims in = n.in_dims(0), out = n.out_dims(0);
  const Dims from = last ? last_steps(in, ctx.pixel(n.input(0))) : row_major(in), to = last ? last_steps(out, ctx.pixel(n.output(0))) : row_major(out);
  const int64_t bytes = element_bytes(n.in_dtype(0));
  const Operand source = ctx.read(n.input(0), layout), target = ctx.write(n.output(0), layout);
  emit_fill(value, target, bytes, elements(out, layout, ctx.target()), ctx);
  Copy c{in, from, to};
  int64_t first = 0, place = 0;
  for (size_t d = 0; d < in.size(); ++d) {
    const int64_t cut = std::max<int64_t>(0, -p.before[d]);
    c.dims[d] = std::max<int64_t>(0, in[d] - cut - std::max<int64_t>(0, -p.after[d]));
    first += cut * from[d], place += std::max<int64_t>(0, p.before[d]) * to[d];
  }
  emit_copy(last ? by_target(c) : c, bytes, moved_by(source, first, bytes), moved_by(target, place, bytes), "pad " + to_text(out), ctx);
}

void pad_with_constant(const NodeView& n, const Padding& p, LowerContext& ctx) {
  pad_with(n, p, n.has_input(2) ? ctx.read(n.input(2)) : ctx.bytes(std::string(8, '\0')), Layout::Plain, ctx);
}

enum class PadMode { Constant, Reflect, Edge, Wrap };
std::optional<PadMode> pad_mode(const NodeView& n) {
  using enum PadMode;
  constexpr Named<PadMode> kAll[] = {{"constant", Constant}, {"reflect", Reflect}, {"edge", Edge}, {"wrap", Wrap}};
  return find_named(kAll, n.text("mode", "constant"));
}

/// Which element of a dim of size `n` stands at `i`, counted from its start.
int64_t mirrored(PadMode mode, int64_t i, int64_t n) {
  if (mode == PadMode::Edge) return std::clamp<int64_t>(i, 0, n - 1);
  if (mode == PadMode::Wrap) return (i % n + n) % n;
  if (n == 1) return 0;
  const int64_t period = 2 * (n - 1), at = (i % period + period) % period;
  return at < n ? at : period - at;
}

/// Whether what is added to each dim is one run of the input's elements, forwards, backwards or one of them again.
bool adds_runs(const Padding& p, PadMode mode, const Dims& in) {
  for (size_t d = 0; d < in.size(); ++d) {
    if (p.before[d] < 0 || p.after[d] < 0 || in[d] == 0) return false;
    if (mode != PadMode::Edge && std::max(p.before[d], p.after[d]) > (mode == PadMode::Wrap ? in[d] : in[d] - 1)) return false;
  }
  return true;
}

/// The input to its place; then one dim after the other, the last one first: what is added is copied inside the result, of dims behind it with what they got.
void pad_by_copies(const NodeView& n, const Padding& p, LowerContext& ctx) {
  const Dims in = n.in_dims(0), out = n.out_dims(0), step = row_major(out);
  if (in == out) return ctx.alias(n.output(0), n.input(0));
  const PadMode mode = *pad_mode(n);
  const int64_t bytes = element_bytes(n.in_dtype(0));
  const std::string label = "pad " + std::string(n.text("mode", ""));
  const Operand to = ctx.write(n.output(0));
  Operand from = to;
  from.written = false;
  int64_t inside = 0;
  for (size_t d = 0; d < in.size(); ++d) inside += p.before[d] * step[d];
  emit_copy({in, row_major(in), step}, bytes, ctx.read(n.input(0)), moved_by(to, inside, bytes), label, ctx);
  Copy c{in, step, step};
  for (size_t d = in.size(); d-- > 0; c.dims[d] = out[d], c.from[d] = step[d]) {
    inside -= p.before[d] * step[d];
    const auto add = [&](int64_t count, int64_t at, int64_t first) {
      c.dims[d] = count, c.from[d] = mode == PadMode::Edge ? 0 : mode == PadMode::Wrap ? step[d] : -step[d];
      if (count > 0) emit_copy(c, bytes, moved_by(from, inside + first * step[d], bytes), moved_by(to, inside + at * step[d], bytes), label, ctx);
    };
    const int64_t before = p.before[d], end = before + in[d];
    add(before, 0, mode == PadMode::Edge ? before : mode == PadMode::Wrap ? in[d] : 2 * before);
    add(p.after[d], end, mode == PadMode::Edge ? end - 1 : mode == PadMode::Wrap ? before : end - 2);
  }
}

/// One dim after the other: rows picked by a table.
void pad_by_tables(const NodeView& n, const Padding& p, LowerContext& ctx) {
  Dims dims = n.in_dims(0);
  const PadMode mode = *pad_mode(n);
  const int64_t bytes = element_bytes(n.in_dtype(0));
  std::vector<size_t> axes;
  for (size_t d = 0; d < dims.size(); ++d)
    if (p.before[d] || p.after[d]) axes.push_back(d);
  if (axes.empty()) return ctx.alias(n.output(0), n.input(0));
  Operand from = ctx.read(n.input(0));
  for (const size_t axis : axes) {
    const AxisView v = around(dims, axis);
    dims[axis] += p.before[axis] + p.after[axis];
    std::vector<int32_t> table;
    for (int64_t i = 0; i < dims[axis]; ++i) table.push_back(static_cast<int32_t>(mirrored(mode, i - p.before[axis], v.len)));
    Operand to = axis == axes.back() ? ctx.write(n.output(0)) : ctx.temporary(static_cast<uint64_t>(count(dims) * bytes));
    to.written = true;
    const int64_t rows = std::max<int64_t>(1, 4096 / std::max<int64_t>(1, v.inner));
    Op op;
    op.kernel = k::Gather{.bytes = bytes, .index_bytes = 4, .rows = rows, .outer = v.outer, .size = v.len, .count = dims[axis], .inner = v.inner};
    op.args = {from, ctx.bytes(raw_bytes(table)), to};
    op.units = count(dims) == 0 ? 0 : divide_up(v.outer * dims[axis], rows);
    op.work = count(dims);
    op.label = "pad " + std::string(n.text("mode", ""));
    ctx.emit(std::move(op));
    from = to;
    from.written = false;
  }
}

void lower_pad(std::span<const NodeView> nodes, LowerContext& ctx) {
  const NodeView& n = nodes[0];
  const Padding p = *padding_of(n);
  if (*pad_mode(n) == PadMode::Constant) pad_with_constant(n, p, ctx);
  else if (adds_runs(p, *pad_mode(n), n.in_dims(0))) pad_by_copies(n, p, ctx);
  else pad_by_tables(n, p, ctx);
}

/// What the operator adds, as a number.
std::optional<float> added(const NodeView& n) {
  if (!n.has_input(2)) return 0.f;
  const auto given = n.graph.floats(n.input(2));
  return given && given->size() == 1 ? std::optional((*given)[0]) : std::nullopt;
}

bool takes_pad(const Unit& u, const Target& target) {
  return takes_moved(u, target) && (*pad_mode(u.op) != PadMode::Constant || added(u.op));
}

void lower_pad_codes(const Unit& u, LowerContext& ctx) {
  if (*pad_mode(u.op) != PadMode::Constant) return lower_moved(u, ctx);
  const std::vector<uint32_t> ins{u.inputs[0].codes->value}, outs{u.out};
  NodeView n = u.op;
  n.ins = &ins, n.outs = &outs;
  const bool image = may_be_last(n.graph, u.out) && ctx.layout(ins[0]) == Layout::Last;
  const bool last = image && ctx.pixel(u.out) == last_channels(n.out_dims(0)[1]);  // else a fill would go over its neighbours
  const Codes codes = last ? as_last(*u.output, ctx.target()) : *u.output;
  pad_with(n, *padding_of(n), ctx.bytes(std::string(1, static_cast<char>(code_of(*added(u.op), codes)))), last ? Layout::Last : Layout::Plain, ctx);
}

Refusal check_pad(const NodeView& n) {
  const auto p = padding_of(n);
  if (!p) return {OPTIMA_REASON_CONST_REQUIRED, "pads or axes", "computed or out of range", "constant, two numbers for each of the axes"};
  const auto mode = pad_mode(n);
  if (!mode) return {OPTIMA_REASON_ATTRIBUTE, "mode", std::string(n.text("mode", "")), "constant, reflect, edge or wrap"};
  if (n.has_input(2) && count(n.in_dims(2)) != 1) return wrong_shape(n, 2, "one element");
  const Dims in = n.in_dims(0), out = n.out_dims(0);
  for (size_t d = 0; d < in.size(); ++d)
    if (out.size() != in.size() || out[d] != in[d] + p->before[d] + p->after[d]) return wrong_shape(n, 0, to_text(out) + " without the pads");
  if (*mode != PadMode::Constant && count(in) == 0) return {OPTIMA_REASON_SIZE_LIMIT, "input 0", to_text(in), "not empty"};
  if (!can_copy({in, row_major(in), row_major(n.out_dims(0))})) return {OPTIMA_REASON_RANK, "input 0", to_text(in), "at most 8 dims"};
  return {};
}

// ---- made from nothing

void lower_trilu(std::span<const NodeView> nodes, LowerContext& ctx) {
  const NodeView& n = nodes[0];
  const Dims d = n.in_dims(0);
  const int64_t rows = d[d.size() - 2], columns = d.back(), diagonal = n.has_input(1) ? std::clamp((*n.graph.integers(n.input(1)))[0], -rows, columns) : 0;
  Op op;
  op.kernel = k::Trilu{.bytes = element_bytes(n.in_dtype(0)), .upper = n.integer("upper", 1), .diagonal = diagonal, .rows = rows, .columns = columns};
  op.args = {ctx.read(n.input(0)), ctx.write(n.output(0))};
  op.units = columns == 0 ? 0 : count(d) / columns;
  op.work = count(d);
  ctx.emit(std::move(op));
}
Refusal check_trilu(const NodeView& n) {
  const auto diagonal = n.has_input(1) ? n.graph.integers(n.input(1)) : std::vector<int64_t>{0};
  if (!diagonal || diagonal->size() != 1) return needs_constant(1);
  return n.in_dims(0) == n.out_dims(0) ? Refusal() : wrong_shape(n, 0, to_text(n.out_dims(0)));
}

void lower_range(std::span<const NodeView> nodes, LowerContext& ctx) {
  const NodeView& n = nodes[0];
  Op op;
  op.kernel = k::Range{.dtype = n.out_dtype(0), .count = count(n.out_dims(0))};
  op.args = {ctx.read(n.input(0)), ctx.read(n.input(2)), ctx.write(n.output(0))};
  op.units = count(n.out_dims(0)) ? 1 : 0;
  op.work = count(n.out_dims(0));
  ctx.emit(std::move(op));
}

Refusal check_range(const NodeView& n) {
  for (uint32_t k = 0; k < 3; ++k)
    if (count(n.in_dims(k)) != 1) return wrong_shape(n, k, "one element");
  return n.out_dims(0).size() == 1 ? Refusal() : Refusal{OPTIMA_REASON_RANK, "rank of output 0", std::to_string(n.out_dims(0).size()), "1"};
}

/// The bytes of attribute `value`, 16-bit floats as f32, or of one f32 zero; empty when they are not known or of another type than the result.
std::string fill_value(const NodeView& n) {
  const optima_attr* a = optima_find_attr(n.graph.image(), n.raw, "value");
  if (!a) return std::string(n.out_dtype(0) == OPTIMA_F32 ? 4 : 0, '\0');
  if (a->type != OPTIMA_ATTR_TENSOR || optima_get_constant(n.graph.image(), a->ref)->dtype != n.graph.stored_dtype(n.output(0))) return {};
  const optima_blob& blob = *optima_get_blob(n.graph.raw, optima_get_constant(n.graph.image(), a->ref)->blob);
  const std::string_view bytes(static_cast<const char*>(blob.data), blob.data ? blob.size : 0);
  if (is_half(n.graph.stored_dtype(n.output(0)))) return raw_bytes(*floats_of(bytes, n.graph.stored_dtype(n.output(0))));
  return std::string(bytes);
}
void lower_constant_of_shape(std::span<const NodeView> nodes, LowerContext& ctx) {
  const NodeView& n = nodes[0];
  emit_fill(ctx.bytes(fill_value(n)), ctx.write(n.output(0)), element_bytes(n.out_dtype(0)), count(n.out_dims(0)), ctx);
}
Refusal check_constant_of_shape(const NodeView& n) {
  if (fill_value(n).size() < static_cast<size_t>(element_bytes(n.out_dtype(0))))
    return {OPTIMA_REASON_CONST_REQUIRED, "attribute value", "not mapped or of another type", "a tensor with its bytes, of the result's type"};
  return {};
}

/// Copies numbers that are known now into the output.
void emit_numbers(const NodeView& n, const std::vector<int64_t>& numbers, LowerContext& ctx) {
  const int64_t size = static_cast<int64_t>(numbers.size());
  emit_copy({{size}, {1}, {1}}, 8, ctx.bytes(raw_bytes(numbers)), ctx.write(n.output(0)), std::string(n.op()), ctx);
}
Dims shape_of(const NodeView& n) {
  const Dims d = n.in_dims(0);
  const int64_t rank = static_cast<int64_t>(d.size());
  const auto bound = [&](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + rank : i, 0, rank); };
  const int64_t start = bound(n.integer("start", 0)), end = std::max(start, bound(n.integer("end", rank)));
  return {d.begin() + start, d.begin() + end};
}
void lower_shape(std::span<const NodeView> nodes, LowerContext& ctx) { emit_numbers(nodes[0], shape_of(nodes[0]), ctx); }
void lower_size(std::span<const NodeView> nodes, LowerContext& ctx) { emit_numbers(nodes[0], {count(nodes[0].in_dims(0))}, ctx); }

Refusal check_shape(const NodeView& n) {
  const Dims wanted = n.op() == "Size" ? Dims() : Dims{static_cast<int64_t>(shape_of(n).size())};
  return n.out_dims(0) == wanted ? Refusal() : Refusal{OPTIMA_REASON_OTHER, "output 0", to_text(n.out_dims(0)), to_text(wanted)};
}

constexpr Lowering kFillFamily[] = {
    {"Pad", 11, 25, {kBytes, kLongs, kBytes, kIndex}, {kBytes}, 1, 8, 0, {2, 4, in_bit(0) | in_bit(2) | out_bit(0)}, check_pad, lower_pad,
     false, Tails::None, "", takes_pad, lower_pad_codes},
    {"Trilu", 14, 14, {kBytes, kLongs}, {kBytes}, 2, 8, 0, {1, 2}, check_trilu, lower_trilu},
    {"Range", 11, 11, {types(OPTIMA_F32, OPTIMA_F64, OPTIMA_I32, OPTIMA_I64)}, {types(OPTIMA_F32, OPTIMA_F64, OPTIMA_I32, OPTIMA_I64)}, 0, 1, 0, {3, 3, kInputs | out_bit(0)}, check_range, lower_range},
    {"ConstantOfShape", 9, 25, {kLongs}, {kBytes}, 1, 1, 0, {1, 1, 0}, check_constant_of_shape, lower_constant_of_shape},
    {"Shape", 1, 25, {kBytes}, {kLongs}, 0, 8, 0, {1, 1, 0}, check_shape, lower_shape},
    {"Size", 1, 25, {kBytes}, {kLongs}, 0, 8, 0, {1, 1, 0}, check_shape, lower_size},
};

}  // namespace

Family fill_family() { return kFillFamily; }

}  // namespace optima::llvm_cpu
