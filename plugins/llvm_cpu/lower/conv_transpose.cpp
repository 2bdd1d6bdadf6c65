// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: ConvTranspose as plain convolutions, one per phase. Output o = s*q + r takes input i where
// o + begin = s*i + d*k: for one r these are every (s / gcd(d, s))-th tap, and i runs backwards as k grows.
#include <algorithm>
#include <numeric>

#include "plugins/llvm_cpu/compiler/tail.hpp"
#include "plugins/llvm_cpu/compiler/tiles.hpp"
#include "plugins/llvm_cpu/kernels/conv.hpp"
#include "plugins/llvm_cpu/lower/parts/conv_parts.hpp"
#include "plugins/llvm_cpu/lower/parts/shapes.hpp"
#include "plugins/llvm_cpu/lower/parts/window.hpp"

namespace optima::llvm_cpu {
namespace {

/// auto_pad or output_shape say the output's size; the padding follows from it.
bool asks_for_size(const NodeView& n) { return auto_pad(n) != AutoPad::Explicit || !n.integers("output_shape").empty(); }

/// The output before padding is cut off.
int64_t full_size(const Window& w, size_t i, int64_t extra) {
  return w.stride[i] * (w.in[i] - 1) + extra + (w.kernel[i] - 1) * w.dilation[i] + 1;
}

/// Padding that auto_pad or output_shape ask for, from the output's size.
void set_pads(const NodeView& n, Window& w) {
  const AutoPad mode = *auto_pad(n);
  const size_t rank = n.in_dims(0).size() - 2;
  const Dims extra = n.integers("output_padding");
  if (!asks_for_size(n)) return;
  for (size_t i = 3 - rank; i < 3; ++i) {
    const int64_t more = extra.empty() ? 0 : extra[i - (3 - rank)];
    const int64_t full = full_size(w, i, more);
    const int64_t total = mode == AutoPad::Valid ? 0 : std::max<int64_t>(0, full - w.out[i]);
    w.begin[i] = mode == AutoPad::SameUpper ? total / 2 : total - total / 2;
  }
}

/// One phase of one dim, as a stride-1 convolution.
struct Phase {
  int64_t outputs, taps, dilation, begin;
  int64_t first_tap, tap_step;  ///< tap j of the convolution is kernel tap first_tap + j * tap_step
};

Phase phase_of(const Window& w, size_t i, int64_t r) {
  const int64_t s = w.stride[i], d = w.dilation[i], g = std::gcd(s, d), step = s / g;
  Phase p{divide_up(w.out[i] - r, s), 0, d / g, 0, 0, -step};
  for (int64_t k = 0; k < std::min(step, w.kernel[i]); ++k) {
    if ((r + w.begin[i] - k * d) % s != 0) continue;
    p.taps = divide_up(w.kernel[i] - k, step);
    p.first_tap = k + (p.taps - 1) * step;
    p.begin = (p.taps - 1) * p.dilation - (r + w.begin[i] - k * d) / s;
  }
  return p;
}

struct Transposed {
  const NodeView& n;
  Window w;
  Groups g;
  FusedTail tail;
  Folded folded;
  uint32_t out;
  int64_t vl;
  LowerContext& ctx;
};

Pack pack_phase(const Transposed& t, const std::array<Phase, 3>& p, int64_t oc_blocks, bool empty) {
  const Window& w = t.w;
  const int64_t taps = w.taps(), oc = t.g.oc / t.g.diagonal, ic = t.g.ic / t.g.diagonal;
  Pack k;
  k.kind = Pack::Dense, k.vector_width = t.vl, k.oc_blocks = oc_blocks, k.in_block = t.vl;
  k.groups = t.g.count, k.diagonal = t.g.diagonal, k.oc = t.g.oc, k.ic = empty ? 0 : t.g.ic;
  k.oc_stride = taps, k.ic_stride = oc * taps, k.diagonal_stride = ic * oc * taps, k.group_stride = k.diagonal_stride * k.diagonal;
  k.kd = p[0].taps, k.kh = p[1].taps, k.kw = p[2].taps;
  k.kw_stride = p[2].tap_step, k.kh_stride = p[1].tap_step * w.kernel[2], k.kd_stride = p[0].tap_step * w.kernel[1] * w.kernel[2];
  k.offset = (p[0].first_tap * w.kernel[1] + p[1].first_tap) * w.kernel[2] + p[2].first_tap;
  if (empty) k.kd = k.kh = k.kw = 1, k.offset = 0;
  return k;
}

void lower_phase(const Transposed& t, const std::array<Phase, 3>& p, const Three& r, const Operand& in, Operand out, Operand residual) {
  const Window& w = t.w;
  const bool empty = p[0].taps == 0 || p[1].taps == 0 || p[2].taps == 0;
  const int64_t kd = empty ? 1 : p[0].taps, kh = empty ? 1 : p[1].taps, kw = empty ? 1 : p[2].taps, ic = empty ? 0 : t.g.ic;
  const int64_t pixel = t.vl, row = w.out[2] * pixel, plane = w.out[1] * row, image = w.batch == 1 ? 0 : divide_up(w.out_channels, t.vl) * w.out[0] * plane;
  const int64_t in_image = w.batch == 1 ? 0 : divide_up(w.channels, t.vl) * t.vl * w.in_pixels();
  const int64_t rows = p[0].outputs * p[1].outputs, nb = divide_up(t.g.oc, t.vl);
  const RowWindow along{p[2].outputs, w.in[2], kw, 1, p[2].dilation, p[2].begin};
  const auto cut = [&](Tile x) { return cut_rows(t.ctx.target(), along, w.batch * rows, ic, ic, true, x.width); };
  const auto spec = [&](Tile x) {
    const RowCut c = cut(x);
    const int64_t icc = input_chunk(t.ctx.target(), std::max<int64_t>(ic, 1), kd * kh * kw, x.oc_blocks, t.vl);
    const int64_t pf = prefetch_lines(x.oc_blocks, kw, t.vl, rows * divide_up(p[2].outputs, x.width));
    return k::Conv{.by_rows = c.by_rows, .tiled_from = c.tiled.from, .tiled_to = c.tiled.to, .piece = c.piece, .block = c.block, .OCB = x.oc_blocks, .WT = x.width, .ICC = icc, .PF = pf, .tail = literals(t.tail, t.folded, t.g, t.vl),
                   .IB = t.vl, .N = w.batch, .G = t.g.count, .IC = ic, .OC = t.g.oc, .in = literal(w.in),
                   .out = {p[0].outputs, p[1].outputs, p[2].outputs}, .kernel = {kd, kh, kw}, .stride = {1, 1, 1},
                   .dilation = {p[0].dilation, p[1].dilation, p[2].dilation}, .begin = {p[0].begin, p[1].begin, p[2].begin},
                   .in_image = in_image, .in_group = t.g.count == 1 ? 0 : t.g.ic * w.in_pixels(), .out_image = image,
                   .out_group = t.g.count == 1 ? 0 : t.g.oc * w.out_pixels(), .out_block = w.out_pixels() * t.vl,
                   .out_plane = plane * w.stride[0], .out_row = row * w.stride[1], .out_pixel = pixel * w.stride[2], .res_image = image, .ahead = 0,
                   .far = t.ctx.target().many_sizes && t.ctx.target().far_weights};
  };
  const Tile tile = choose_tile(t.ctx.target(), {nb, tiled_row(t.ctx.target(), p[2].outputs, ic), rows}, [&](Tile x) { return t.ctx.is_bad(spec(x)); });
  const uint64_t at = static_cast<uint64_t>(r[0] * plane + r[1] * row + r[2] * pixel) * sizeof(float);
  out.offset += at, residual.offset += residual.kind == Operand::Null ? 0 : at;
  Op op;
  op.kernel = spec(tile);
  const Pack pack = pack_phase(t, p, tile.oc_blocks, empty);
  const Operand weights = weights_of(t.n.input(1), pack, t.folded, t.n.graph, t.ctx), bias = bias_of(t.folded, t.g, t.ctx);
  op.args = {in, weights, bias, out, residual};
  op.units = cut(tile).by_rows ? cut(tile).units : t.g.count * divide_up(nb, tile.oc_blocks);
  op.work = w.batch * w.out_channels * rows * p[2].outputs * std::max<int64_t>(1, ic / t.g.diagonal * kd * kh * kw);
  op.label = "conv transposed " + describe(w);
  t.ctx.emit(std::move(op));
}

void lower_transposed(std::span<const NodeView> nodes, LowerContext& ctx) {
  const NodeView& n = nodes[0];
  const Dims weights = n.in_dims(1);
  Transposed t{n, Window::of(n, Dims(weights.begin() + 2, weights.end())), {}, tail_of(nodes), {}, nodes.back().output(0), ctx.target().vector_width, ctx};
  set_pads(n, t.w);
  t.g = merge_groups(n.integer("group", 1), t.w.channels, t.w.out_channels, t.vl);
  t.folded = fold(n, t.tail, t.w.out_channels);
  const Operand in = ctx.read(n.input(0), Layout::Blocked);
  const Operand residual = t.tail.residual == OPTIMA_NONE ? LowerContext::null() : ctx.read(t.tail.residual, Layout::Blocked);
  const Operand out = ctx.write(t.out, Layout::Blocked);
  const auto phases = [&](size_t i) { return std::min(t.w.stride[i], t.w.out[i]); };
  for (int64_t d = 0; d < phases(0); ++d)
    for (int64_t h = 0; h < phases(1); ++h)
      for (int64_t w = 0; w < phases(2); ++w) {
        const std::array<Phase, 3> p{phase_of(t.w, 0, d), phase_of(t.w, 1, h), phase_of(t.w, 2, w)};
        lower_phase(t, p, {d, h, w}, in, out, residual);
      }
}

/// The result's size follows from the attributes, or the padding from the size; none may be larger than all taps reach.
Refusal check_result(const NodeView& n, Window w) {
  const Dims in = n.in_dims(0), out = n.out_dims(0), extra = n.integers("output_padding");
  const bool given = asks_for_size(n);
  bool fits = out[0] == in[0];
  for (size_t i = 0, first = 5 - in.size(); i + 2 < in.size() && fits; ++i) {
    const int64_t d = w.out[i + first], full = full_size(w, i + first, extra.empty() ? 0 : extra[i]);
    fits = given ? d > 0 : d == full - w.begin[i + first] - w.end[i + first];
  }
  return fits ? Refusal() : Refusal{OPTIMA_REASON_OTHER, "output 0", to_text(out), "what the weights make of " + to_text(in)};
}

Refusal check_transposed(const NodeView& n) {
  const Dims weights = n.in_dims(1);
  if (weights.size() != n.in_dims(0).size())
    return {OPTIMA_REASON_RANK, "rank of input 1", std::to_string(weights.size()), std::to_string(n.in_dims(0).size())};
  if (const Refusal r = check_groups(n, true)) return r;
  if (const Refusal r = Window::check_attributes(n)) return r;
  const Dims extra = n.integers("output_padding"), kernel(weights.begin() + 2, weights.end()), named = n.integers("kernel_shape");
  const auto wrong = [](int64_t x) { return x < 0 || x > 1 << 24; };
  if (!extra.empty() && (extra.size() != kernel.size() || std::any_of(extra.begin(), extra.end(), wrong)))
    return {OPTIMA_REASON_ATTRIBUTE, "output_padding", to_text(extra), std::to_string(kernel.size()) + " numbers of at least 0"};
  if (!named.empty() && named != kernel) return {OPTIMA_REASON_ATTRIBUTE, "kernel_shape", to_text(named), to_text(kernel) + ", as the weights say"};
  return check_result(n, Window::of(n, kernel));
}

constexpr Lowering kConvTransposeFamily[] = {
    {"ConvTranspose", 1, 22, {kFloat}, {kFloat}, 3, 5, 0, {2, 3, kInputs | out_bit(0)}, check_transposed, lower_transposed, false, Tails::Channels},
};

}  // namespace

Family conv_transpose_family() { return kConvTransposeFamily; }

}  // namespace optima::llvm_cpu
