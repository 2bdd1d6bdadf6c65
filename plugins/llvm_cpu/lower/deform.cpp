// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: DeformConv of images as two steps: what the taps read, then a 1x1 convolution of channels x taps. Others are the reference's.
#include "plugins/llvm_cpu/compiler/tail.hpp"
#include "plugins/llvm_cpu/compiler/tiles.hpp"
#include "plugins/llvm_cpu/compiler/work.hpp"
#include "plugins/llvm_cpu/kernels/deform_columns.hpp"
#include "plugins/llvm_cpu/kernels/pointwise.hpp"
#include "plugins/llvm_cpu/lower/parts/conv_parts.hpp"
#include "plugins/llvm_cpu/lower/parts/shapes.hpp"

namespace optima::llvm_cpu {
namespace {

Window deform_window(const NodeView& n) {
  const Dims weights = n.in_dims(1);
  return Window::of(n, Dims(weights.begin() + 2, weights.end()));
}

/// The widest vector: a group of offsets has whole vectors of channels for any target.
constexpr int64_t kChannels = 16;

Refusal check_deform(const NodeView& n) {
  const Dims x = n.in_dims(0), weights = n.in_dims(1), offset = n.in_dims(2), named = n.integers("kernel_shape");
  const int64_t groups = n.integer("offset_group", 1), one = n.integer("group", 1);
  if (weights.size() != 4) return wrong_shape(n, 1, "four dims");
  if (one != 1) return {OPTIMA_REASON_ATTRIBUTE, "group", std::to_string(one), "1"};
  if (groups < 1 || x[1] % groups || x[1] / groups % kChannels) return {OPTIMA_REASON_ATTRIBUTE, "offset_group", std::to_string(groups), "a multiple of 16 channels in each group"};
  for (uint32_t k = 0; k < 3; ++k)
    if (count(n.in_dims(k)) == 0) return {OPTIMA_REASON_SIZE_LIMIT, "input " + std::to_string(k), to_text(n.in_dims(k)), "not empty"};
  const Dims kernel(weights.begin() + 2, weights.end());
  if (weights[1] != x[1]) return wrong_shape(n, 1, to_text({weights[0], x[1], kernel[0], kernel[1]}));
  if (!named.empty() && named != kernel) return {OPTIMA_REASON_ATTRIBUTE, "kernel_shape", to_text(named), to_text(kernel) + ", as the weights say"};
  if (n.has_input(3) && n.in_dims(3) != Dims{weights[0]}) return wrong_shape(n, 3, to_text({weights[0]}));
  if (const Refusal r = Window::check(n, kernel, weights[0])) return r;
  const Dims out = n.out_dims(0);
  const int64_t taps = groups * kernel[0] * kernel[1];
  if (offset != Dims{x[0], 2 * taps, out[2], out[3]}) return wrong_shape(n, 2, to_text({x[0], 2 * taps, out[2], out[3]}));
  if (n.has_input(4) && n.in_dims(4) != Dims{x[0], taps, out[2], out[3]}) return wrong_shape(n, 4, to_text({x[0], taps, out[2], out[3]}));
  const int64_t columns = x[1] * kernel[0] * kernel[1] * out[2] * out[3] * x[0];
  if (columns >= int64_t{1} << 28) return {OPTIMA_REASON_SIZE_LIMIT, "output 0", to_text(out), "fewer than 2^28 samples, not " + std::to_string(columns)};
  return {};
}

/// What every tap reads for every output: an image of channels x taps, blocked.
Operand emit_columns(const NodeView& n, const Window& w, LowerContext& ctx) {
  const int64_t vl = ctx.target().vector_width, elements = w.batch * w.channels * w.taps() * w.out_pixels();
  const bool masked = n.has_input(4);
  Op op;
  op.kernel = k::DeformColumns{.masked = masked, .groups = n.integer("offset_group", 1), .blocks = w.channels / vl, .height = w.in[1], .width = w.in[2], .out_height = w.out[1],
                               .out_width = w.out[2], .kernel = literal(w.kernel), .stride = literal(w.stride), .dilation = literal(w.dilation), .begin = literal(w.begin)};
  const Operand in = ctx.read(n.input(0), Layout::Blocked), offsets = ctx.read(n.input(2)), mask = masked ? ctx.read(n.input(4)) : LowerContext::null();
  Operand columns = ctx.temporary(static_cast<uint64_t>(elements) * sizeof(float)), to = columns;
  to.written = true;
  op.args = {in, offsets, mask, to};
  op.units = w.batch * divide_up(w.out_pixels(), k::kDeformBlock);
  op.work = elements * 4 * work::kPooled;
  op.label = "deformed columns " + describe(w);
  ctx.emit(std::move(op));
  return columns;
}

/// As of a direct convolution whose taps are all along its depth: they follow each block of channels, as the columns do.
Pack pack_of(const Window& w, const Groups& whole, int64_t vl, int64_t oc_blocks) {
  Pack p = dense_pack(w, whole, vl, oc_blocks, vl);
  p.kd = w.taps(), p.kh = p.kw = 1, p.kd_stride = 1;
  return p;
}

void emit_product(const NodeView& n, const Window& w, const Operand& columns, LowerContext& ctx) {
  const int64_t vl = ctx.target().vector_width, inputs = w.channels * w.taps(), pixels = w.out_pixels(), blocks = divide_up(w.out_channels, vl);
  const Groups whole{1, 1, w.channels, w.out_channels};
  const bool by_tiles = pixels >= 28 * 28 || w.batch > 4;
  const auto spec = [&](k::Pointwise s, const auto& t) {
    s.OCB = t.oc_blocks, s.WT = t.width;
    s.ICC = input_chunk(ctx.target(), inputs, 1, t.oc_blocks, vl);
    s.PF = prefetch_lines(t.oc_blocks, 1, vl, divide_up(pixels, t.width));
    s.TB = by_tiles ? std::max<int64_t>(1, block_pixels(inputs) / t.width) : int64_t{1} << 20;
    return s;
  };
  const k::Pointwise shape{.by_tiles = by_tiles, .OCB = 0, .WT = 0, .ICC = 0, .TB = 0, .PF = 0, .tail = tail_of(std::span(&n, 1)).literals(n.has_input(3)), .N = w.batch, .IC = inputs, .P = pixels,
                           .OC = w.out_channels, .in_image = w.batch == 1 ? 0 : inputs * pixels, .out_image = w.batch == 1 ? 0 : blocks * vl * pixels,
                           .res_image = w.batch == 1 ? 0 : blocks * vl * pixels, .ahead = pixels_ahead(ctx.target(), w.batch * inputs * pixels, 1)};
  const auto tile = choose_tile(ctx.target(), {blocks, pixels, 1}, [&](auto t) { return ctx.is_bad(spec(shape, t)); });
  Op op;
  op.kernel = spec(shape, tile);
  const Operand weights = ctx.packed(n.input(1), pack_of(w, whole, vl, tile.oc_blocks));
  const Operand bias = n.has_input(3) ? ctx.bytes(to_bytes(*n.graph.floats(n.input(3))), bias_pack(whole, vl)) : LowerContext::null();
  op.args = {columns, weights, bias, ctx.write(n.output(0), Layout::Blocked), LowerContext::null()};
  op.units = by_tiles ? w.batch * divide_up(pixels, tile.width) : divide_up(blocks, tile.oc_blocks);
  op.work = w.batch * w.out_channels * pixels * inputs;
  op.label = "conv deformed " + describe(w);
  ctx.emit(std::move(op));
}

void lower_deform(std::span<const NodeView> nodes, LowerContext& ctx) {
  const Window w = deform_window(nodes[0]);
  emit_product(nodes[0], w, emit_columns(nodes[0], w, ctx), ctx);
}

constexpr Lowering kDeformFamily[] = {
    {"DeformConv", 19, 22, {kFloat}, {kFloat}, 4, 4, 0b1010, {3, 5, kInputs | out_bit(0)}, check_deform, lower_deform},
};

}  // namespace

Family deform_family() { return kDeformFamily; }

}  // namespace optima::llvm_cpu
