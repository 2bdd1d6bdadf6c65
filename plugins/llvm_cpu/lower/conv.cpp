// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: Conv: which algorithm, which tile, which constants. Kernels: conv, pointwise, depthwise, winograd.
#include <algorithm>
#include <cmath>

#include "plugins/llvm_cpu/compiler/tail.hpp"
#include "plugins/llvm_cpu/compiler/tiles.hpp"
#include "plugins/llvm_cpu/kernels/conv.hpp"
#include "plugins/llvm_cpu/kernels/depthwise.hpp"
#include "plugins/llvm_cpu/kernels/grouped.hpp"
#include "plugins/llvm_cpu/kernels/pointwise.hpp"
#include "plugins/llvm_cpu/kernels/winograd.hpp"
#include "plugins/llvm_cpu/lower/parts/codes_conv.hpp"
#include "plugins/llvm_cpu/lower/parts/conv_parts.hpp"
#include "plugins/llvm_cpu/lower/parts/pairs.hpp"
#include "plugins/llvm_cpu/lower/parts/shapes.hpp"
#include "plugins/llvm_cpu/lower/parts/window.hpp"

namespace optima::llvm_cpu {
namespace {

/// Everything that the four algorithms share.
struct Layer {
  Window w;
  Groups g;
  FusedTail tail;
  uint32_t in, weights, out;
  int64_t vl;
  LowerContext& ctx;
  GraphView graph;

  int64_t work() const { return w.batch * w.out_channels * w.out_pixels() * g.ic / g.diagonal * w.taps(); }
  /// Floats of one image, blocked; 0 for a single image, so that equal layers of other nets share kernels.
  int64_t image(int64_t channels, int64_t pixels) const { return w.batch == 1 ? 0 : divide_up(channels, vl) * vl * pixels; }
  int64_t in_image() const { return image(w.channels, w.in_pixels()); }
  int64_t out_image() const { return image(w.out_channels, w.out_pixels()); }
};

/// args in, weights, bias, out, residual.
void emit(Layer& l, KernelSpec kernel, const Operand& in, const Operand& w, const Folded& folded, Op op) {
  op.kernel = std::move(kernel);
  const Operand bias = bias_of(folded, l.g, l.ctx);
  const Operand residual = l.tail.residual == OPTIMA_NONE ? LowerContext::null() : l.ctx.read(l.tail.residual, Layout::Blocked);
  op.args = {in, w, bias, l.ctx.write(l.out, Layout::Blocked), residual};
  op.work = l.work();
  l.ctx.emit(std::move(op));
}
void emit(Layer& l, KernelSpec kernel, const Operand& in, const Pack& weights, const Folded& folded, Op op) {
  emit(l, std::move(kernel), in, weights_of(l.weights, weights, folded, l.graph, l.ctx), folded, std::move(op));
}

bool is_pointwise(const Layer& l) {
  const Three one{1, 1, 1}, zero{0, 0, 0};
  return l.g.count == 1 && l.w.kernel == one && l.w.stride == one && l.w.begin == zero && l.w.end == zero;
}

bool is_depthwise(const Layer& l, const NodeView& n) {
  return n.integer("group", 1) == l.w.channels && l.w.channels == l.w.out_channels && l.w.channels > 1 && l.w.in[0] == 1 &&
         l.w.out[0] == 1 && l.w.kernel[0] == 1 && l.w.begin[0] == 0;
}

void lower_depthwise(Layer& l, const Folded& folded) {
  const Window& w = l.w;
  l.g = {1, 1, 1, w.channels};
  const int64_t blocks = divide_up(w.channels, l.vl), width = depthwise_width(l.ctx.target(), w.out[2]);
  const k::Depthwise spec{.WT = width, .tail = literals(l.tail, folded, l.g, l.vl), .CB = blocks, .H = w.in[1], .W = w.in[2], .OH = w.out[1],
                          .OW = w.out[2], .KH = w.kernel[1], .KW = w.kernel[2], .SH = w.stride[1], .SW = w.stride[2], .DH = w.dilation[1],
                          .DW = w.dilation[2], .PT = w.begin[1], .PL = w.begin[2], .out_image = l.out_image(), .res_image = l.out_image()};
  Pack p;
  p.kind = Pack::Channels, p.vector_width = l.vl, p.oc = w.channels, p.kh = w.kernel[1], p.kw = w.kernel[2];
  p.oc_stride = w.taps(), p.kh_stride = w.kernel[2], p.kw_stride = 1;
  Op op;
  op.units = w.batch * blocks * w.out[1];
  op.label = "conv depthwise " + describe(w);
  emit(l, spec, l.ctx.read(l.in, Layout::Blocked), p, folded, std::move(op));
}

/// Most groups of which a block of outputs has lanes.
int64_t groups_in_block(int64_t channels, int64_t per_group, int64_t vl) {
  int64_t most = 1;
  for (int64_t first = 0; first < channels; first += vl)
    most = std::max(most, (std::min(channels, first + vl) - 1) / per_group - first / per_group + 1);
  return most;
}

/// Images in groups that do not fill vectors, which only neighbours would fill, with as many zeros.
bool is_narrow(const Layer& l, int64_t groups) {
  constexpr int64_t kMostParts = 8, kMostTaps = 7;  // arrays of the kernel
  const Window& w = l.w;
  if (l.g.diagonal == 1 || w.in[0] != 1 || w.out[0] != 1 || w.kernel[0] != 1 || w.begin[0] != 0 || w.kernel[2] > kMostTaps) return false;
  return groups_in_block(w.out_channels, w.out_channels / groups, l.vl) <= kMostParts;
}

/// [block][kh][input of the group][kw][VL], scaled.
std::vector<float> grouped_weights(const Layer& l, const NodeView& n, int64_t per_group, const std::vector<float>& scale) {
  const Window& w = l.w;
  const std::vector<float> all = *n.graph.floats(l.weights);
  const int64_t blocks = divide_up(w.out_channels, l.vl), taps = w.taps();
  std::vector<float> out(static_cast<size_t>(blocks * l.vl * per_group * taps));
  for (int64_t o = 0; o < w.out_channels; ++o)
    for (int64_t i = 0; i < per_group; ++i)
      for (int64_t t = 0; t < taps; ++t) {
        const int64_t kh = t / w.kernel[2], kw = t % w.kernel[2], at = ((o / l.vl * w.kernel[1] + kh) * per_group + i) * w.kernel[2] + kw;
        const float x = all[static_cast<size_t>((o * per_group + i) * taps + t)];
        out[static_cast<size_t>(at * l.vl + o % l.vl)] = scale.empty() ? x : x * scale[static_cast<size_t>(o)];
      }
  return out;
}

void lower_grouped(Layer& l, const NodeView& n, int64_t groups, const Folded& folded) {
  const Window& w = l.w;
  l.g = {1, groups, w.channels, w.out_channels};
  const int64_t blocks = divide_up(w.out_channels, l.vl), ig = w.channels / groups, og = w.out_channels / groups;
  const k::Grouped spec{.WT = grouped_width(l.ctx.target(), w.out[2], w.kernel[2]), .parts = groups_in_block(w.out_channels, og, l.vl),
                        .tail = literals(l.tail, folded, l.g, l.vl), .IG = ig, .OG = og, .OC = w.out_channels, .CB = blocks, .H = w.in[1],
                        .W = w.in[2], .OH = w.out[1], .OW = w.out[2], .KH = w.kernel[1], .KW = w.kernel[2], .SH = w.stride[1], .SW = w.stride[2],
                        .DH = w.dilation[1], .DW = w.dilation[2], .PT = w.begin[1], .PL = w.begin[2], .in_image = l.in_image(),
                        .out_image = l.out_image(), .res_image = l.out_image()};
  Op op;
  op.units = w.batch * blocks * w.out[1];
  op.label = "conv grouped " + describe(w);
  emit(l, spec, l.ctx.read(l.in, Layout::Blocked), l.ctx.bytes(to_bytes(grouped_weights(l, n, ig, folded.scale))), folded, std::move(op));
}

void lower_pointwise(Layer& l, const Folded& folded) {
  const Window& w = l.w;
  const int64_t P = w.out_pixels(), nb = divide_up(w.out_channels, l.vl);
  const bool by_tiles = P >= 28 * 28 || w.batch > 4;
  const auto spec = [&](Tile t) {
    const int64_t icc = input_chunk(l.ctx.target(), w.channels, 1, t.oc_blocks, l.vl), passes = divide_up(P, t.width);
    const int64_t panel_bytes = w.channels * w.out_channels * 4;
    const int64_t pixels = panel_bytes <= 128 << 10 ? (24 << 10) / (w.channels * 4) : block_pixels(w.channels);
    const int64_t tb = by_tiles || panel_bytes <= 128 << 10 ? std::max<int64_t>(1, pixels / t.width) : int64_t{1} << 20;
    return k::Pointwise{.by_tiles = by_tiles, .OCB = t.oc_blocks, .WT = t.width, .ICC = icc, .TB = tb,
                        .PF = prefetch_lines(t.oc_blocks, 1, l.vl, passes), .tail = literals(l.tail, folded, l.g, l.vl), .N = w.batch,
                        .IC = w.channels, .P = P, .OC = w.out_channels, .in_image = l.in_image(), .out_image = l.out_image(),
                        .res_image = l.out_image(), .ahead = pixels_ahead(l.ctx.target(), w.batch * w.channels * P, t.width)};
  };
  const Tile t = choose_tile(l.ctx.target(), {nb, P, 1}, [&](Tile x) { return l.ctx.is_bad(spec(x)); });
  Op op;
  op.units = by_tiles ? w.batch * divide_up(P, t.width) : divide_up(nb, t.oc_blocks);
  op.label = "conv 1x1 " + describe(w);
  emit(l, spec(t), l.ctx.read(l.in, Layout::Blocked), dense_pack(w, l.g, l.vl, t.oc_blocks, l.vl), folded, std::move(op));
}

/// Cycles of one thread, roughly: what the arithmetic takes, or what the weights take: from the last cache 14 bytes a cycle, 11 where they are larger than
/// other layers leave room for, 8 from memory. Plans for many sizes are made where nobody knows of all weights; they must come to what samples came to.
double cycles(double multiply_adds, double efficiency, double weight_bytes, const Target& t) {
  const double per_cycle = static_cast<double>(t.vector_width) * (t.cpu == "znver4" ? 1 : 2);
  const double bytes_per_cycle = weight_bytes <= (2 << 20) ? 14 : t.far_weights && !t.many_sizes ? 8 : weight_bytes <= (4 << 20) ? 14 : 11;
  return std::max(multiply_adds / (per_cycle * efficiency), weight_bytes / bytes_per_cycle);
}

/// Pairs of a tap and an output pixel, for which the tap lies on the image.
int64_t taps_on_image(const Window& w) {
  int64_t product = 1;
  for (size_t axis = 0; axis < 3; ++axis) {
    int64_t sum = 0;
    for (int64_t k = 0; k < w.kernel[axis]; ++k) {
      const int64_t at = k * w.dilation[axis] - w.begin[axis];  // of output 0
      const int64_t first = at < 0 ? divide_up(-at, w.stride[axis]) : 0, end = at < w.in[axis] ? std::min(w.out[axis], (w.in[axis] - 1 - at) / w.stride[axis] + 1) : 0;
      sum += std::max<int64_t>(0, end - first);
    }
    product *= sum;
  }
  return product;
}

/// Weights transformed for F(4x4) where plans are made for many sizes: a layer is given one transform then, F(2x2) where the other is larger than that.
constexpr double kMostTransformed = 16 << 20;

/// 0 (direct), 2 or 4.
int64_t winograd_size(const Layer& l) {
  const Window& w = l.w;
  const Three k{1, 3, 3}, one{1, 1, 1};
  if (!l.ctx.allows_winograd() || l.g.count != 1 || l.g.diagonal != 1 || w.kernel != k || w.stride != one || w.dilation != one) return 0;
  if (w.in[0] != 1 || w.begin[0] != 0 || w.end[0] != 0 || w.channels < 8 || w.out_channels < l.vl) return 0;
  const Target& t = l.ctx.target();
  const double pairs = static_cast<double>(w.channels * w.out_channels);
  const double of_peak = pixels_apart(t, w.out[2], w.channels) ? 0.75 : 0.95;
  double best = cycles(pairs * static_cast<double>(taps_on_image(w)), of_peak, pairs * 36 / static_cast<double>(w.batch), t);
  int64_t size = 0;
  for (const int64_t m : {2, 4}) {
    if (t.many_sizes && m != (pairs * 36 * 4 <= kMostTransformed ? 4 : 2)) continue;
    const int64_t a2 = (m + 2) * (m + 2), tiles = divide_up(w.out[1], m) * divide_up(w.out[2], m);
    const double moved = static_cast<double>(tiles * a2 * (w.channels + w.out_channels)) * 3 / static_cast<double>(l.vl);
    const double c = moved + cycles(pairs * static_cast<double>(a2 * tiles), 0.75, pairs * static_cast<double>(a2) * 4, t);
    if (c < best) best = c, size = m;
  }
  return size;
}

void lower_winograd(Layer& l, const Folded& folded, int64_t m) {
  const Window& w = l.w;
  const int64_t a2 = (m + 2) * (m + 2), T = divide_up(w.out[1], m) * divide_up(w.out[2], m);
  const int64_t nib = divide_up(w.channels, l.vl), nob = divide_up(w.out_channels, l.vl), per_tile = a2 * (nib + nob) * l.vl * 4;
  const bool by_tiles = w.batch > 1 || T > 36 || T * per_tile > 5 << 19;
  const auto block = [&](Tile t) {
    if (!by_tiles) return divide_up(T, t.width) * t.width;
    const int64_t register_tiles = divide_up(T, t.width), most = std::max<int64_t>(1, (900 << 10) / (per_tile * t.width));
    return divide_up(register_tiles, divide_up(register_tiles, most)) * t.width;
  };
  const auto spec = [&](Tile t) {
    const int64_t pf = prefetch_lines(t.oc_blocks, 1, l.vl, divide_up(std::min(T, block(t)), t.width));
    return k::Winograd{.by_tiles = by_tiles, .M = m, .OCB = t.oc_blocks, .WT = t.width, .TB = block(t), .PF = pf,
                       .tail = literals(l.tail, folded, l.g, l.vl), .IC = w.channels, .H = w.in[1], .W = w.in[2], .OC = w.out_channels,
                       .OH = w.out[1], .OW = w.out[2], .PT = w.begin[1], .PL = w.begin[2], .in_image = l.in_image(), .out_image = l.out_image(),
                       .res_image = l.out_image()};
  };
  const Tile t = choose_tile(l.ctx.target(), {nob, T, 1}, [&](Tile x) { return l.ctx.is_bad(spec(x)); });
  Pack p = dense_pack(w, l.g, l.vl, t.oc_blocks, l.vl);
  p.kind = Pack::Winograd, p.tile = m;
  Op op;
  op.units = by_tiles ? w.batch * divide_up(T, t.width) : divide_up(nob, t.oc_blocks);
  op.grain = by_tiles ? std::max<int64_t>(1, block(t) / t.width) : 1;
  // V and M: positions lie one vector apart from a multiple of the block.
  op.scratch_per_thread = static_cast<uint64_t>(a2 * ((nib * block(t) + 1) + (nob * block(t) + 1)) * l.vl * 4);
  op.label = "conv winograd" + std::to_string(m) + " " + describe(w);
  emit(l, spec(t), l.ctx.read(l.in, Layout::Blocked), p, folded, std::move(op));
}

void lower_direct(Layer& l, const Folded& folded) {
  const Window& w = l.w;
  const int64_t nb = divide_up(l.g.oc, l.vl), rows = w.out[0] * w.out[1];
  const bool planar = l.g.count == 1 && w.channels < l.vl && l.ctx.layout(l.in) == Layout::Plain;
  const bool skips_pixels = w.stride[2] > 1 && (w.kernel[2] == 2 || w.kernel[2] == 3);  // prefetching cost others a tenth to a fifth
  const int64_t ib = planar ? 1 : l.vl, out_plane = w.out[1] * w.out[2] * l.vl;
  const int64_t in_image = planar ? (w.batch == 1 ? 0 : w.channels * w.in_pixels()) : l.in_image();
  const RowWindow row{w.out[2], w.in[2], w.kernel[2], w.stride[2], w.dilation[2], w.begin[2]};
  const int64_t inputs = l.g.ic * w.stride[0] * w.stride[1] * w.stride[2];
  const auto cut = [&](Tile t) { return cut_rows(l.ctx.target(), row, w.batch * rows, l.g.ic, inputs, !planar, t.width); };
  const auto spec = [&](Tile t) {
    const RowCut c = cut(t);
    const int64_t icc = input_chunk(l.ctx.target(), l.g.ic, w.taps(), t.oc_blocks, ib);
    const int64_t pf = prefetch_lines(t.oc_blocks, w.kernel[2], l.vl, rows * divide_up(w.out[2], t.width));
    return k::Conv{.by_rows = c.by_rows, .tiled_from = c.tiled.from, .tiled_to = c.tiled.to, .piece = c.piece, .block = c.block, .OCB = t.oc_blocks, .WT = t.width, .ICC = icc, .PF = pf, .tail = literals(l.tail, folded, l.g, l.vl),
                   .IB = ib, .N = w.batch, .G = l.g.count, .IC = l.g.ic, .OC = l.g.oc, .in = literal(w.in), .out = literal(w.out),
                   .kernel = literal(w.kernel), .stride = literal(w.stride), .dilation = literal(w.dilation), .begin = literal(w.begin),
                   .in_image = in_image, .in_group = l.g.count == 1 ? 0 : l.g.ic * w.in_pixels(), .out_image = l.out_image(),
                   .out_group = l.g.count == 1 ? 0 : l.g.oc * w.out_pixels(), .out_block = w.out_pixels() * l.vl, .out_plane = out_plane,
                   .out_row = w.out[2] * l.vl, .out_pixel = l.vl, .res_image = l.out_image(),
                   .ahead = skips_pixels && !planar ? pixels_ahead(l.ctx.target(), w.channels * w.in_pixels(), t.width * w.stride[2]) : 0,
                   .far = !planar && l.ctx.target().many_sizes && l.ctx.target().far_weights};
  };
  const Tile t = choose_tile(l.ctx.target(), {nb, planar ? w.out[2] : tiled_row(l.ctx.target(), w.out[2], l.g.ic), rows}, [&](Tile x) { return l.ctx.is_bad(spec(x)); });
  Op op;
  op.units = cut(t).by_rows ? cut(t).units : l.g.count * divide_up(nb, t.oc_blocks);
  op.label = "conv " + describe(w);
  emit(l, spec(t), l.ctx.read(l.in, planar ? Layout::Plain : Layout::Blocked), dense_pack(w, l.g, l.vl, t.oc_blocks, ib), folded, std::move(op));
}

/// Images in one group of channels, in whole steps; dots are worth it where Winograd is no rival.
bool convolves_pairs(const NodeView& n, const Target& t) {
  if (!are_pairs(n, t) || n.in_dims(0).size() != 4 || n.integer("group", 1) != 1) return false;
  const Dims weights = n.in_dims(1);
  return weights[1] % 32 == 0 && weights[0] >= 16 && (t.bf16 == Bf16::Tiles || weights[2] * weights[3] == 1);
}

/// The input in bf16, channels last, with the borders that windows reach.
Operand bordered(const Layer& l, int64_t height, int64_t width) {
  const Window& w = l.w;
  const Operand from = l.ctx.read(l.in, Layout::Blocked);
  Operand to = l.ctx.temporary(static_cast<uint64_t>(w.batch * height * width * w.channels) * 2);
  Op op;
  op.kernel = k::ToPairs{.C = w.channels, .H = w.in[1], .W = w.in[2], .PT = w.begin[1], .PL = w.begin[2], .HP = height, .WP = width};
  to.written = true;
  op.args = {from, to};
  op.units = w.batch * height;
  op.work = w.batch * height * width * w.channels;
  op.label = "to bf16, channels last";
  l.ctx.emit(std::move(op));
  to.written = false;
  return to;
}

void lower_pairs(Layer& l, const Folded& folded) {
  const Window& w = l.w;
  const int64_t height = std::max(w.begin[1] + w.in[1], (w.out[1] - 1) * w.stride[1] + (w.kernel[1] - 1) * w.dilation[1] + 1);
  const int64_t width = std::max(w.begin[2] + w.in[2], (w.out[2] - 1) * w.stride[2] + (w.kernel[2] - 1) * w.dilation[2] + 1);
  const bool one_line = width == w.out[2] && w.stride[1] == 1 && w.kernel[2] == 1;
  const int64_t pixels = w.out_pixels(), row = width * w.channels;
  const k::Pairs shape{.tiles = 0, .OCB = 0, .images = w.batch, .lines = one_line ? 1 : w.out[1], .rows = one_line ? pixels : w.out[2], .line_block = 1, .row_block = 1,
                       .KH = w.kernel[1], .KW = w.kernel[2], .IC = w.channels, .N = w.out_channels, .lanes = l.vl, .in_image = height * row,
                       .in_line = w.stride[1] * row, .in_row = w.stride[2] * w.channels, .in_tap_y = w.dilation[1] * row, .in_tap_x = w.dilation[2] * w.channels,
                       .out_image = divide_up(w.out_channels, l.vl) * l.vl * pixels, .out_line = w.out[2] * l.vl, .out_row = l.vl, .out_block = pixels * l.vl,
                       .bias = 0, .before = 0, .after = 0, .act = l.tail.act};
  const Pack pack = pairs_pack(w.out_channels, w.channels, w.channels * w.taps(), w.taps(), w.kernel[1], w.kernel[2]);
  const Operand in = bordered(l, height, width), weights = weights_of(l.weights, pack, folded, l.graph, l.ctx), bias = bias_of(folded, l.g, l.ctx);
  const Operand residual = l.tail.residual == OPTIMA_NONE ? Operand() : l.ctx.read(l.tail.residual, Layout::Blocked);
  const bool after = l.tail.residual_after;
  Op op = pairs_op(shape, {in, weights, bias, after ? Operand() : residual, after ? residual : Operand(), l.ctx.write(l.out, Layout::Blocked)}, l.ctx.target());
  op.label = "conv bf16 " + describe(w);
  l.ctx.emit(std::move(op));
}

void lower_conv(std::span<const NodeView> nodes, LowerContext& ctx) {
  const NodeView& n = nodes[0];
  const Dims weights = n.in_dims(1);
  Layer l{Window::of(n, Dims(weights.begin() + 2, weights.end())).with_long_rows(), {}, tail_of(nodes), n.input(0), n.input(1),
          nodes.back().output(0), ctx.target().vector_width, ctx, n.graph};
  l.g = merge_groups(n.integer("group", 1), l.w.channels, l.w.out_channels, l.vl);
  const Folded folded = fold(n, l.tail, l.w.out_channels);
  if (convolves_pairs(n, ctx.target())) return lower_pairs(l, folded);
  if (is_depthwise(l, n)) return lower_depthwise(l, folded);
  const bool is_known = n.graph.is_known(l.weights);
  if (const int64_t groups = n.integer("group", 1); is_known && is_narrow(l, groups)) return lower_grouped(l, n, groups, folded);
  if (is_pointwise(l)) return lower_pointwise(l, folded);
  if (const int64_t m = is_known ? winograd_size(l) : 0) return lower_winograd(l, folded, m);
  lower_direct(l, folded);
}

Refusal check_conv(const NodeView& n) {
  if (n.in_dims(1).size() != n.in_dims(0).size())
    return {OPTIMA_REASON_RANK, "rank of input 1", std::to_string(n.in_dims(1).size()), std::to_string(n.in_dims(0).size())};
  const Dims weights = n.in_dims(1), kernel(weights.begin() + 2, weights.end()), named = n.integers("kernel_shape");
  if (const Refusal r = check_groups(n, false)) return r;
  if (!named.empty() && named != kernel) return {OPTIMA_REASON_ATTRIBUTE, "kernel_shape", to_text(named), to_text(kernel) + ", as the weights say"};
  return Window::check(n, kernel, weights[0]);
}

constexpr Lowering kConvFamily[] = {
    {"Conv", 1, 22, {kFloat}, {kFloat}, 3, 5, 0, {2, 3, kInputs | out_bit(0)}, check_conv, lower_conv, false, Tails::Channels, "",
     takes_codes_conv, lower_codes_conv, nullptr, convolves_pairs},
};

}  // namespace

Family conv_family() { return kConvFamily; }

}  // namespace optima::llvm_cpu
