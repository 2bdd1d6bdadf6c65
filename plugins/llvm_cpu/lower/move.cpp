// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: Transpose, Slice, Split, Concat, Expand, Tile, DepthToSpace, SpaceToDepth: strided copies.
#include <algorithm>
#include <numeric>

#include "plugins/llvm_cpu/compiler/concat.hpp"
#include "plugins/llvm_cpu/lower/parts/concat_blocked.hpp"
#include "plugins/llvm_cpu/lower/parts/concat_codes.hpp"
#include "plugins/llvm_cpu/lower/parts/copy.hpp"
#include "plugins/llvm_cpu/lower/parts/last.hpp"
#include "plugins/llvm_cpu/lower/parts/moved.hpp"
#include "plugins/llvm_cpu/lower/parts/program.hpp"
#include "plugins/llvm_cpu/lower/parts/shapes.hpp"

namespace optima::llvm_cpu {
namespace {

/// A copy that reads input 0 from an element on.
struct Reading {
  Copy copy;
  int64_t first = 0;
};

/// Codes of an image that lie channels last stay so; a Transpose makes them plain on its way. False where steps do not allow it.
bool emit_last(const NodeView& n, const Reading& r, LowerContext& ctx) {
  const Dims in = n.in_dims(0), out = n.out_dims(0);
  const bool plain = n.op() == "Transpose" || !may_be_last(n.graph, n.output(0));
  if (ctx.layout(n.input(0)) != Layout::Last || element_bytes(n.in_dtype(0)) != 1 || count(in) == 0 || count(out) == 0) return false;
  if (plain && flips(n.in_dtype(0), ctx.target())) return false;
  const int64_t pixel = ctx.pixel(n.input(0));
  const auto from = to_last(r.copy.from, r.copy.dims, in, pixel);
  const auto to = plain ? std::optional(r.copy.to) : to_last(r.copy.to, r.copy.dims, out, ctx.pixel(n.output(0)));
  if (!from || !to) return false;
  const Copy copy = by_target({r.copy.dims, *from, *to});
  if (!can_copy(copy)) return false;
  const Operand source = moved_by(ctx.read(n.input(0), Layout::Last), last_offset(r.first, in, pixel), 1);
  emit_copy(copy, 1, source, ctx.write(n.output(0), plain ? Layout::Plain : Layout::Last), std::string(n.op()) + " " + to_text(in), ctx);
  return true;
}

void emit(const NodeView& n, const Reading& r, LowerContext& ctx) {
  if (emit_last(n, r, ctx)) return;
  const int64_t bytes = element_bytes(n.in_dtype(0));
  const Operand from = moved_by(ctx.read(n.input(0)), r.first, bytes);
  emit_copy(r.copy, bytes, from, ctx.write(n.output(0)), std::string(n.op()) + " " + to_text(n.in_dims(0)), ctx);
}

Refusal check_copy(const Copy& c) {
  return can_copy(c) ? Refusal() : Refusal{OPTIMA_REASON_RANK, "input 0", std::to_string(simplified(c).dims.size()) + " runs of dims", "at most 8"};
}

// ---- Transpose

Copy of_transpose(const NodeView& n) {
  const Dims in = n.in_dims(0), step = row_major(in);
  Copy c;
  for (const int64_t p : permutation_of(n)) c.dims.push_back(in[static_cast<size_t>(p)]), c.from.push_back(step[static_cast<size_t>(p)]);
  c.to = row_major(c.dims);
  return c;
}
/// A blocked image to plain pixels of channels: every block is runs of channels already.
bool lower_blocked_transpose(const NodeView& n, LowerContext& ctx) {
  const Dims in = n.in_dims(0), perm = permutation_of(n);
  if (ctx.layout(n.input(0)) != Layout::Blocked || perm[0] != 0 || perm.back() != 1 || count(in) == 0) return false;
  for (size_t d = 1; d + 1 < perm.size(); ++d)
    if (perm[d] != static_cast<int64_t>(d) + 1) return false;
  const int64_t vl = ctx.target().vector_width, channels = in[1], pixels = count(in) / (in[0] * channels), blocks = divide_up(channels, vl);
  const Operand from = ctx.read(n.input(0), Layout::Blocked), to = ctx.write(n.output(0));
  const std::string label = "Transpose " + to_text(in) + " blocked";
  const auto copy = [&](int64_t first, int64_t count, int64_t lanes) {
    const Copy c{{in[0], count, pixels, lanes}, {blocks * pixels * vl, pixels * vl, vl, 1}, {pixels * channels, vl, channels, 1}};
    if (count) emit_copy(c, 4, moved_by(from, first * pixels * vl, 4), moved_by(to, first * vl, 4), label, ctx);
  };
  copy(0, channels / vl, vl);
  if (channels % vl) copy(channels / vl, 1, channels % vl);
  return true;
}

void lower_transpose(std::span<const NodeView> nodes, LowerContext& ctx) {
  if (lower_blocked_transpose(nodes[0], ctx)) return;
  const Copy c = of_transpose(nodes[0]);
  if (simplified(c).dims.size() <= 1) return ctx.alias(nodes[0].output(0), nodes[0].input(0));
  emit(nodes[0], {c, 0}, ctx);
}

Refusal check_transpose(const NodeView& n) {
  const size_t rank = n.in_dims(0).size();
  Dims perm = n.integers("perm"), sorted = perm;
  std::sort(sorted.begin(), sorted.end());
  if (n.has("perm") && sorted.size() != rank) return {OPTIMA_REASON_ATTRIBUTE, "perm", to_text(perm), "a permutation of the axes"};
  for (size_t d = 0; d < sorted.size(); ++d)
    if (sorted[d] != static_cast<int64_t>(d)) return {OPTIMA_REASON_ATTRIBUTE, "perm", to_text(perm), "a permutation of the axes"};
  return of_transpose(n).dims == n.out_dims(0) ? Refusal() : wrong_shape(n, 0, "the permuted shape of the result");
}

// ---- Slice

std::optional<Reading> of_slice(const NodeView& n) {
  const Dims in = n.in_dims(0), step = row_major(in);
  const auto starts = n.graph.integers(n.input(1));
  const auto steps = n.has_input(4) ? n.graph.integers(n.input(4)) : std::vector<int64_t>(starts ? starts->size() : 0, 1);
  std::optional<std::vector<int64_t>> axes = std::vector<int64_t>(starts ? starts->size() : 0);
  std::iota(axes->begin(), axes->end(), 0);
  if (n.has_input(3)) axes = n.graph.integers(n.input(3));
  if (!starts || !steps || !axes || steps->size() < axes->size() || starts->size() < axes->size()) return std::nullopt;
  Reading r;
  r.copy = {n.out_dims(0), step, row_major(n.out_dims(0))};
  for (size_t i = 0; i < axes->size(); ++i) {
    if (check_axis((*axes)[i], in.size())) return std::nullopt;
    const size_t axis = axis_at((*axes)[i], in.size());
    const int64_t size = in[axis], by = std::clamp<int64_t>((*steps)[i], -size - 1, size + 1);  // longer steps take one element, too
    const int64_t wrapped = (*starts)[i] < 0 ? (*starts)[i] + size : (*starts)[i];
    if (by == 0 || std::count(axes->begin(), axes->begin() + static_cast<std::ptrdiff_t>(i), (*axes)[i])) return std::nullopt;
    if (size > 0) r.first += std::clamp<int64_t>(wrapped, 0, by > 0 ? size : size - 1) * step[axis];
    r.copy.from[axis] *= by;
  }
  return r;
}
void lower_slice(std::span<const NodeView> nodes, LowerContext& ctx) {
  const NodeView& n = nodes[0];
  const Reading r = *of_slice(n);
  if (n.in_dims(0) == n.out_dims(0) && r.copy.from == row_major(n.in_dims(0))) return ctx.alias(n.output(0), n.input(0));
  emit(n, r, ctx);
}
Refusal check_slice(const NodeView& n) {
  const Dims out = n.out_dims(0);
  if (out.size() != n.in_dims(0).size()) return wrong_shape(n, 0, "as many dims as the result");
  const auto r = of_slice(n);
  if (!r) return {OPTIMA_REASON_CONST_REQUIRED, "starts, axes or steps", "computed or no such", "constant axes, each once, and steps that are not 0"};
  // The last element that would be read lies inside.
  int64_t lowest = r->first, highest = r->first;
  for (size_t d = 0; d < out.size(); ++d) (r->copy.from[d] < 0 ? lowest : highest) += (out[d] - 1) * r->copy.from[d];
  if (count(out) > 0 && (lowest < 0 || highest >= count(n.in_dims(0)))) return wrong_shape(n, 0, "large enough for " + to_text(out));
  return check_copy(r->copy);
}

// ---- Split and Concat

/// [outer][piece][inner] inside [outer][whole][inner].
Copy piece_of(int64_t outer, int64_t whole, int64_t piece, int64_t inner, bool reading) {
  Copy c{{outer, piece * inner}, {whole * inner, 1}, {piece * inner, 1}};
  if (!reading) std::swap(c.from, c.to);
  return c;
}

/// True when every piece but the last fills whole vectors of channels of a blocked tensor.
bool splits_blocks(const NodeView& n, int64_t vl) {
  const Dims in = n.in_dims(0);
  if (in.size() < 3 || in.size() > 5 || n.in_dtype(0) != OPTIMA_F32 || axis_at(n.integer("axis", 0), in.size()) != 1) return false;
  for (uint32_t k = 0; k + 1 < n.output_count(); ++k)
    if (!n.has_output(k) || n.out_dims(k)[1] % vl) return false;
  return true;
}

void split_last(const NodeView& n, LowerContext& ctx) {
  const Dims in = n.in_dims(0), from = last_steps(in, ctx.pixel(n.input(0)));
  const size_t axis = axis_at(n.integer("axis", 0), in.size());
  const Operand source = ctx.read(n.input(0), Layout::Last);
  int64_t at = 0;
  for (uint32_t k = 0; k < n.output_count(); ++k) {
    const Dims out = n.out_dims(k);
    const Copy c = by_target({out, from, last_steps(out, ctx.pixel(n.output(k)))});
    emit_copy(c, 1, moved_by(source, at * from[axis], 1), ctx.write(n.output(k), Layout::Last), "split " + to_text(out), ctx);
    at += out[axis];
  }
}

void lower_split(std::span<const NodeView> nodes, LowerContext& ctx) {
  const NodeView& n = nodes[0];
  const int64_t vl = ctx.target().vector_width, bytes = element_bytes(n.in_dtype(0));
  if (ctx.layout(n.input(0)) == Layout::Last && may_be_last(n.graph, n.input(0))) return split_last(n, ctx);
  const Layout layout = ctx.layout(n.input(0)) == Layout::Blocked && splits_blocks(n, vl) ? Layout::Blocked : Layout::Plain;
  const size_t axis = axis_at(n.integer("axis", 0), n.in_dims(0).size());
  const auto length = [&](int64_t l) { return layout == Layout::Blocked ? divide_up(l, vl) * vl : l; };
  const AxisView v = around(n.in_dims(0), axis);
  const Operand from = ctx.read(n.input(0), layout);
  int64_t at = 0;
  for (uint32_t k = 0; k < n.output_count(); ++k) {
    if (!n.has_output(k)) continue;  // static shapes: absent outputs come last or have no size to skip
    const int64_t len = length(n.out_dims(k)[axis]);
    emit_copy(piece_of(v.outer, length(v.len), len, v.inner, true), bytes, moved_by(from, at * v.inner, bytes), ctx.write(n.output(k), layout),
              "split " + to_text(n.out_dims(k)), ctx);
    at += len;
  }
}
Refusal check_split(const NodeView& n) {
  for (uint32_t k = 0; k < n.output_count(); ++k)
    if (!n.has_output(k)) return {OPTIMA_REASON_OTHER, "output " + std::to_string(k), "absent", "named"};
  const Dims in = n.in_dims(0);
  if (const Refusal r = check_axis(n.integer("axis", 0), in.size())) return r;
  const size_t axis = axis_at(n.integer("axis", 0), in.size());
  int64_t sum = 0;
  for (uint32_t k = 0; k < n.output_count(); ++k) {
    Dims out = n.out_dims(k);
    if (out.size() != in.size()) return wrong_shape(n, 0, "as many dims as output " + std::to_string(k));
    sum += out[axis];
    out[axis] = in[axis];
    if (out != in) return wrong_shape(n, 0, "the shape of output " + std::to_string(k) + " but for the axis");
  }
  return sum == in[axis] ? Refusal() : wrong_shape(n, 0, std::to_string(sum) + " on the axis");
}

Refusal check_concat(const NodeView& n) {
  const Dims out = n.out_dims(0);
  if (const Refusal r = check_axis(n.integer("axis", 1), out.size())) return r;
  const size_t axis = axis_at(n.integer("axis", 1), out.size());
  int64_t sum = 0;
  for (uint32_t k = 0; k < n.input_count(); ++k) {
    Dims in = n.has_input(k) ? n.in_dims(k) : Dims();
    if (in.size() != out.size()) return {OPTIMA_REASON_RANK, "input " + std::to_string(k), "another rank", "rank " + std::to_string(out.size())};
    sum += in[axis];
    in[axis] = out[axis];
    if (in != out) return wrong_shape(n, k, to_text(out) + " but for the axis");
  }
  return sum == out[axis] ? Refusal() : Refusal{OPTIMA_REASON_OTHER, "output 0", to_text(out), std::to_string(sum) + " on the axis"};
}

void lower_concat(std::span<const NodeView> nodes, LowerContext& ctx) {
  const NodeView& n = nodes[0];
  const Dims out = n.out_dims(0);
  const int64_t vl = ctx.target().vector_width, bytes = element_bytes(n.out_dtype(0));
  const bool blocked = joins_blocks(n, ctx.target());
  if (!blocked && lower_blocked_concat(n, ctx)) return;
  bool any = false;
  for (uint32_t k = 0; k < n.input_count(); ++k) any = any || ctx.layout(n.input(k)) == Layout::Blocked;
  const Layout layout = blocked && any ? Layout::Blocked : Layout::Plain;
  const auto length = [&](int64_t l) { return layout == Layout::Blocked ? divide_up(l, vl) * vl : l; };
  const size_t axis = axis_at(n.integer("axis", 1), out.size());
  const AxisView v = around(out, axis);
  std::vector<Operand> pieces;
  for (uint32_t k = 0; k < n.input_count(); ++k) pieces.push_back(ctx.read(n.input(k), layout));
  const Operand to = ctx.write(n.output(0), layout);
  int64_t at = 0;
  for (uint32_t k = 0; k < n.input_count(); ++k) {
    const int64_t len = length(n.in_dims(k)[axis]);
    const Operand place = moved_by(to, at * v.inner, bytes), &from = pieces[k];
    const bool there = from.kind == Operand::Buffer && from.index == place.index && from.offset == place.offset;
    if (!there) emit_copy(piece_of(v.outer, length(v.len), len, v.inner, false), bytes, from, place, "concat " + to_text(n.in_dims(k)), ctx);
    at += len;
  }
}

// ---- Expand and Tile

void lower_expand(std::span<const NodeView> nodes, LowerContext& ctx) {
  const Dims in = nodes[0].in_dims(0), out = nodes[0].out_dims(0);
  if (count(in) == count(out)) return ctx.alias(nodes[0].output(0), nodes[0].input(0));
  emit(nodes[0], {{out, broadcast_steps(in, out), row_major(out)}, 0}, ctx);
}

/// Every dim twice: how often, and how many.
Copy of_tile(const NodeView& n) {
  const Dims in = n.in_dims(0), out = n.out_dims(0), from = row_major(in), to = row_major(out);
  Copy c;
  for (size_t d = 0; d < in.size(); ++d) {
    c.dims.push_back(in[d] ? out[d] / in[d] : 0), c.from.push_back(0), c.to.push_back(in[d] * to[d]);
    c.dims.push_back(in[d]), c.from.push_back(from[d]), c.to.push_back(to[d]);
  }
  return c;
}
void lower_tile(std::span<const NodeView> nodes, LowerContext& ctx) { emit(nodes[0], {of_tile(nodes[0]), 0}, ctx); }

// ---- blocks of pixels

/// Reads `in`, seen as dims `view`, in the order `perm`.
Copy permuted(const Dims& view, const Dims& perm) {
  const Dims step = row_major(view);
  Copy c;
  for (const int64_t p : perm) c.dims.push_back(view[static_cast<size_t>(p)]), c.from.push_back(step[static_cast<size_t>(p)]);
  c.to = row_major(c.dims);
  return c;
}
void lower_depth_to_space(std::span<const NodeView> nodes, LowerContext& ctx) {
  const NodeView& n = nodes[0];
  const Dims d = n.in_dims(0);
  const int64_t b = n.integer("blocksize", 1);
  const bool crd = n.text("mode", "DCR") == "CRD";
  const int64_t c = d[1] / (b * b);
  emit(n, {crd ? permuted({d[0], c, b, b, d[2], d[3]}, {0, 1, 4, 2, 5, 3}) : permuted({d[0], b, b, c, d[2], d[3]}, {0, 3, 4, 1, 5, 2}), 0}, ctx);
}
void lower_space_to_depth(std::span<const NodeView> nodes, LowerContext& ctx) {
  const NodeView& n = nodes[0];
  const Dims d = n.in_dims(0);
  const int64_t b = n.integer("blocksize", 1);
  emit(n, {permuted({d[0], d[1], d[2] / b, b, d[3] / b, b}, {0, 3, 5, 1, 2, 4}), 0}, ctx);
}

Refusal check_tile(const NodeView& n) {
  const Dims in = n.in_dims(0), out = n.out_dims(0);
  for (size_t d = 0; d < in.size(); ++d)
    if (out.size() != in.size() || (in[d] ? out[d] % in[d] : out[d])) return wrong_shape(n, 0, "a divisor of " + to_text(out));
  return check_copy(of_tile(n));
}
Refusal check_expand(const NodeView& n) {
  if (!broadcasts(n.in_dims(0), n.out_dims(0))) return wrong_shape(n, 0, "broadcastable to " + to_text(n.out_dims(0)));
  return check_copy({n.out_dims(0), broadcast_steps(n.in_dims(0), n.out_dims(0)), row_major(n.out_dims(0))});
}
Refusal check_blocks(const NodeView& n) {
  const int64_t b = n.integer("blocksize", 1);
  const Dims d = n.in_dims(0);
  const bool deep = n.op() == "DepthToSpace";
  if (b < 1 || b > 1 << 15 || (deep ? d[1] % (b * b) : d[2] % b || d[3] % b)) return {OPTIMA_REASON_ATTRIBUTE, "blocksize", std::to_string(b), "a divisor"};
  const Dims wanted = deep ? Dims{d[0], d[1] / (b * b), d[2] * b, d[3] * b} : Dims{d[0], d[1] * b * b, d[2] / b, d[3] / b};
  if (const std::string_view mode = n.text("mode", "DCR"); deep && mode != "DCR" && mode != "CRD")
    return {OPTIMA_REASON_ATTRIBUTE, "mode", std::string(mode), "DCR or CRD"};
  return n.out_dims(0) == wanted ? Refusal() : wrong_shape(n, 0, "what the result says");
}

constexpr Lowering kMoveFamily[] = {
    {"Transpose", 1, 25, {kBytes}, {kBytes}, 0, 8, 0, {}, check_transpose, lower_transpose, false, Tails::None, "", takes_moved, lower_moved},
    {"Slice", 10, 13, {kBytes, kIndex}, {kBytes}, 1, 8, 0, {3, 5}, check_slice, lower_slice, false, Tails::None, "", takes_moved, lower_moved},
    {"Split", 2, 18, {kBytes, kLongs}, {kBytes}, 1, 8, 0, {1, 2, in_bit(0) | kOutputs, kMany}, check_split, lower_split,
     false, Tails::None, "", takes_moved, lower_moved},
    {"Concat", 4, 13, {kBytes}, {kBytes}, 1, 8, 0, {1, kMany, kInputs | out_bit(0)}, check_concat, lower_concat,
     false, Tails::None, "", takes_concat_codes, lower_concat_codes},
    {"Expand", 8, 13, {kBytes, kLongs}, {kBytes}, 0, 8, 0, {2, 2}, check_expand, lower_expand, false, Tails::None, "", takes_moved, lower_moved},
    {"Tile", 6, 13, {kBytes, kLongs}, {kBytes}, 1, 8, 0, {2, 2}, check_tile, lower_tile, false, Tails::None, "", takes_moved, lower_moved},
    {"DepthToSpace", 1, 13, {kBytes}, {kBytes}, 4, 4, 0, {}, check_blocks, lower_depth_to_space, false, Tails::None, "", takes_moved, lower_moved},
    {"SpaceToDepth", 1, 13, {kBytes}, {kBytes}, 4, 4, 0, {}, check_blocks, lower_space_to_depth, false, Tails::None, "", takes_moved, lower_moved},
};

}  // namespace

Family move_family() { return kMoveFamily; }

}  // namespace optima::llvm_cpu
