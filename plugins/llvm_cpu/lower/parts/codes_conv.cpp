// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: see codes_conv.hpp.
#include "plugins/llvm_cpu/lower/parts/codes_conv.hpp"

#include <algorithm>
#include <cmath>

#include "optima/plugin/error.hpp"
#include "plugins/llvm_cpu/lower/parts/codes_op.hpp"
#include "plugins/llvm_cpu/lower/parts/codes_window.hpp"
#include "plugins/llvm_cpu/lower/parts/conv_parts.hpp"
#include "plugins/llvm_cpu/lower/parts/shapes.hpp"
#include "plugins/llvm_cpu/lower/parts/window.hpp"

namespace optima::llvm_cpu {
namespace {

/// Signed weights of [groups * oc][...] by element steps, as the unit's input 1 has them.
struct Weights {
  uint32_t value;      ///< the codes
  bool flipped;        ///< unsigned around 128: they become signed by a flip
  std::string_view bytes;
  int8_t at(int64_t i) const { return static_cast<int8_t>(bytes[static_cast<size_t>(i)] ^ (flipped ? 0x80 : 0)); }
};

/// Nothing when the codes are computed, of other types, or have a zero point once they are signed.
std::optional<Weights> weights_of(const Unit& u, int channel_axis) {
  const auto& codes = u.inputs[1].codes;
  if (!codes || codes->block || (codes->dtype != OPTIMA_I8 && codes->dtype != OPTIMA_U8)) return std::nullopt;
  if (!codes->is_scalar() && codes->axis != channel_axis) return std::nullopt;
  const auto bytes = u.op.graph.bytes(codes->value);
  const bool flipped = codes->dtype == OPTIMA_U8;
  if (!bytes || std::any_of(codes->zero.begin(), codes->zero.end(), [&](int32_t z) { return z != (flipped ? 128 : 0); })) return std::nullopt;
  return Weights{codes->value, flipped, *bytes};
}

/// The layer as sums over K codes for each of `channels` outputs.
struct Sums {
  int64_t channels = 0, K = 0;
  int64_t oc_stride = 0, k_stride = 0;  ///< in the weights
};

/// What turns sums into values: float(sum + bias) * scale + real_bias.
struct Steps {
  std::vector<float> scale, real_bias;
  std::vector<int32_t> bias;
  double most = 0;  ///< no value is larger
};

/// Gemm's factors; other operators have none.
float alpha_of(const Unit& u) { return u.op.real("alpha", 1); }
float beta_of(const Unit& u) { return u.op.real("beta", 1); }

/// Codes of a bias whose scale is that of the sums.
std::optional<std::vector<int32_t>> bias_codes(const Unit& u, const std::vector<float>& steps) {
  const UnitInput& in = u.inputs[2];
  if (!in.codes || in.codes->dtype != OPTIMA_I32 || beta_of(u) != 1) return std::nullopt;
  for (size_t o = 0; o < steps.size(); ++o)
    if (in.codes->scale[in.codes->scale.size() == 1 ? 0 : o] != steps[o] || in.codes->zero[in.codes->zero.size() == 1 ? 0 : o] != 0) return std::nullopt;
  auto codes = u.op.graph.small_integers(in.codes->value);
  return codes && codes->size() == steps.size() ? codes : std::nullopt;
}

/// Nothing when a sum may leave int32, or the bias is neither codes nor constant.
std::optional<Steps> steps_of(const Unit& u, const Weights& w, const Sums& sums, const Target& target, float divisor) {
  const Codes x = as_last(*u.inputs[0].codes, target);
  const Codes& wc = *u.inputs[1].codes;
  Steps out;
  std::vector<float> steps;
  for (int64_t o = 0; o < sums.channels; ++o) steps.push_back(x.scale[0] * wc.scale[wc.is_scalar() ? 0 : static_cast<size_t>(o)] * alpha_of(u));
  std::vector<int32_t> bias(steps.size(), 0);
  if (u.inputs.size() > 2 && u.inputs[2]) {
    const auto codes = bias_codes(u, steps);
    const auto reals = codes ? std::nullopt : u.op.graph.floats(u.inputs[2].value);
    if (!codes && (!reals || (reals->size() != steps.size() && reals->size() != 1))) return std::nullopt;
    if (codes) bias = *codes;
    for (size_t o = 0; reals && o < steps.size(); ++o) out.real_bias.push_back((*reals)[reals->size() == 1 ? 0 : o] * beta_of(u) / divisor);
  }
  for (int64_t o = 0; o < sums.channels; ++o) {
    int64_t sum = 0, size = 0;
    for (int64_t k = 0; k < sums.K; ++k) {
      const int64_t v = w.at(o * sums.oc_stride + k * sums.k_stride);
      sum += v, size += std::abs(v);
    }
    const int64_t b = bias[static_cast<size_t>(o)] - int64_t{x.zero[0]} * sum;
    if (std::abs(b) + size * 255 > INT32_MAX) return std::nullopt;
    out.bias.push_back(static_cast<int32_t>(b));
    out.scale.push_back(steps[static_cast<size_t>(o)] / divisor);
    const double real = out.real_bias.empty() ? 0 : std::abs(static_cast<double>(out.real_bias[static_cast<size_t>(o)]));
    out.most = std::max(out.most, static_cast<double>(std::abs(b) + size * 255) * std::abs(static_cast<double>(out.scale.back())) + real);
  }
  return out;
}

/// Per channel, padded to whole vectors per group.
template <class T>
Operand per_lane(const std::vector<T>& all, int64_t groups, int64_t vl, LowerContext& ctx) {
  const size_t oc = all.size() / static_cast<size_t>(groups), padded = static_cast<size_t>(divide_up(static_cast<int64_t>(oc), vl) * vl);
  std::vector<T> out(padded * static_cast<size_t>(groups), T{});
  for (size_t g = 0; g < static_cast<size_t>(groups); ++g) std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(g * oc), oc, out.begin() + static_cast<std::ptrdiff_t>(g * padded));
  return ctx.bytes(raw_bytes(out));
}

Operand packed_weights(const Weights& w, const Pack& pack, LowerContext& ctx) {
  if (!w.flipped) return ctx.packed(w.value, pack);
  std::string flipped(w.bytes);
  for (char& c : flipped) c = static_cast<char>(c ^ 0x80);
  return ctx.bytes(std::move(flipped), pack);
}

/// A layer that waits for its tile: the literals that all kernels share, the pack but for its blocks, the sums.
struct Layer {
  const Unit& u;
  k::CodesConv l;
  Operand in;
  Weights weights;
  Pack pack;
  Sums sums;
  Layout layout;
  std::string label;
  LowerContext& ctx;
};

/// args in, weights, scale, bias, real bias, numbers, out, operands of the tail.
std::vector<Operand> arguments(const Layer& x, const Steps& steps, const CodesEnd& end) {
  const int64_t vl = x.ctx.target().vector_width;
  std::vector<Operand> args{x.in, packed_weights(x.weights, x.pack, x.ctx), per_lane(steps.scale, x.l.G, vl, x.ctx), per_lane(steps.bias, x.l.G, vl, x.ctx),
                            x.l.float_bias ? per_lane(steps.real_bias, x.l.G, vl, x.ctx) : LowerContext::null(), x.ctx.bytes(raw_bytes(end.numbers)),
                            x.ctx.write(x.u.out, x.layout)};
  args.insert(args.end(), end.operands.begin(), end.operands.end());
  return args;
}

void emit(Layer x) {
  const Target& t = x.ctx.target();
  const CodesEnd end = lower_tail(x.u, x.layout, x.ctx);
  const Steps steps = *steps_of(x.u, x.weights, x.sums, t, end.divisor);
  x.l.tail = end.literals, x.l.float_bias = !steps.real_bias.empty();
  x.l.tail.natural = end.natural && steps.most < 0x1p30;
  Op op = codes_op(x.l, x.pack, x.sums.channels * x.sums.K, x.ctx);
  op.args = arguments(x, steps, end);
  op.work = x.l.N * x.l.out.d * x.l.out.h * x.l.out.w * x.sums.channels * x.sums.K / 4;
  op.label = std::move(x.label);
  x.ctx.emit(std::move(op));
}

Window window_of(const Unit& u) {
  const Dims weights = u.op.graph.dims(u.inputs[1].codes->value);
  return Window::of(u.op, Dims(weights.begin() + 2, weights.end())).with_long_rows();
}

Sums conv_sums(const Window& w, int64_t groups) {
  const int64_t K = w.channels / groups * w.taps();
  return {w.out_channels, K, K, 1};
}

void lower_dense(const Unit& u, const Window& w, const Operand& in, int64_t pixel, int64_t groups, LowerContext& ctx) {
  const CodesWindow x = dense_window(w, pixel, groups, ctx.pixel(u.out));
  emit({u, x.literals, in, *weights_of(u, 0), x.pack, conv_sums(w, groups), Layout::Last, "conv int8 " + describe(w), ctx});
}

void lower_depthwise(const Unit& u, const Window& w, const Operand& in, int64_t pixel, LowerContext& ctx) {
  const Target& t = ctx.target();
  const Weights weights = *weights_of(u, 0);
  const CodesEnd end = lower_tail(u, Layout::Last, ctx);
  const Steps steps = *steps_of(u, weights, conv_sums(w, w.channels), t, end.divisor);
  k::CodesDepthwise l = depthwise_window(w, pixel, ctx.pixel(u.out), t);
  l.tail = end.literals, l.float_bias = !steps.real_bias.empty();
  l.tail.natural = end.natural && steps.most < 0x1p30;
  for (const Operand& o : end.operands) l.joins = l.joins || o.kind != Operand::Null;
  Op op;
  op.kernel = l;
  op.args = {in, ctx.bytes(depthwise_weights(weights.bytes, weights.flipped ? '\x80' : '\0', w, t)), in_lanes(steps.scale, ctx), in_lanes(steps.bias, ctx),
             l.float_bias ? in_lanes(steps.real_bias, ctx) : LowerContext::null(), ctx.bytes(raw_bytes(end.numbers)), ctx.write(u.out, Layout::Last)};
  op.args.insert(op.args.end(), end.operands.begin(), end.operands.end());
  op.units = w.batch * w.out[0] * w.out[1];
  op.work = op.units * w.out[2] * w.channels * w.taps() / 4;
  op.label = "conv int8 depthwise " + describe(w);
  ctx.emit(std::move(op));
}

/// The constant matrix of a product: columns are channels.
struct Product {
  int64_t M = 1, N = 1, K = 1;
  Sums sums;
};
Product product_of(const Unit& u) {
  const Dims a = u.op.graph.dims(stored_value(u.inputs[0])), b = u.op.graph.dims(stored_value(u.inputs[1]));
  const bool transposed = u.op.integer("transB", 0);
  Product p;
  p.K = u.op.integer("transA", 0) ? a[0] : a.back(), p.M = count(a) / p.K, p.N = b[transposed ? 0 : 1];
  p.sums = {p.N, p.K, transposed ? p.K : 1, transposed ? 1 : p.N};
  return p;
}

/// Where bytes are multiplied hardly faster than floats, Winograd's transform of floats does a quarter of the work. Measured from 14 x 14 on
/// (docs/llvm_cpu.md); below that its weights, four times as many bytes, take longer.
bool floats_are_faster(const Window& w, int64_t groups, const Target& t) {
  const Three kernel{1, 3, 3}, one{1, 1, 1};
  if (t.dot != k::Dot::Pairs && t.dot != k::Dot::Widened) return false;
  return groups == 1 && w.kernel == kernel && w.stride == one && w.dilation == one && w.channels >= 8 && w.out_channels >= t.vector_width && w.out_pixels() >= 196;
}

}  // namespace

bool takes_codes_conv(const Unit& u, const Target& t) {
  if (!is_simple(u.inputs[0].codes) || !takes_tail(u, Layout::Last)) return false;
  const auto weights = weights_of(u, 0);
  if (!weights) return false;
  const Window w = window_of(u);
  if (floats_are_faster(w, u.op.integer("group", 1), t)) return false;
  return steps_of(u, *weights, conv_sums(w, u.op.integer("group", 1)), t, 1).has_value();
}

void lower_codes_conv(const Unit& u, LowerContext& ctx) {
  Window w = window_of(u);
  const uint32_t x = u.inputs[0].codes->value;
  const int64_t pixel = ctx.pixel(x);
  const Operand zero = ctx.bytes(std::string(1, static_cast<char>(as_last(*u.inputs[0].codes, ctx.target()).zero[0])));
  const Operand in = with_padding(ctx.read(x, Layout::Last), w, pixel, zero, ctx);
  const int64_t groups = u.op.integer("group", 1);
  if (is_depthwise(w, groups)) lower_depthwise(u, w, in, pixel, ctx);
  else lower_dense(u, w, in, pixel, groups, ctx);
}

bool takes_codes_product(const Unit& u, const Target& t) {
  if (!is_simple(u.inputs[0].codes) || !u.inputs[1].codes || u.inputs[1].transposed || !takes_tail(u, Layout::Plain)) return false;
  const GraphView& g = u.op.graph;
  const Dims b = g.dims(stored_value(u.inputs[1])), a = g.dims(stored_value(u.inputs[0]));
  if (b.size() != 2 || a.size() < 2 || g.dims(u.out).size() != a.size()) return false;
  const auto weights = weights_of(u, u.op.integer("transB", 0) ? 0 : 1);
  return weights && steps_of(u, *weights, product_of(u).sums, t, 1);
}

void lower_codes_product(const Unit& u, LowerContext& ctx) {
  const Product p = product_of(u);
  const uint32_t x = u.inputs[0].codes->value;
  const bool flip = flips(u.inputs[0].codes->dtype, ctx.target());
  const int64_t padded = codes_row(ctx.target(), p.M, p.K);
  const Operand plain = u.op.integer("transA", 0) ? transposed_codes(ctx.read(x), p.M, p.K, ctx) : ctx.read(x);
  const Operand in = rows_of_codes(plain, p.M, p.K, padded, flip, ctx);
  k::CodesConv l{};
  l.G = 1, l.OC = p.N, l.quads = padded / 4, l.runs = {1, 1, 1}, l.N = 1, l.out = {1, 1, p.M}, l.in_step = {0, 0, padded}, l.out_pixel = p.N;
  Pack pack;
  pack.in_block = padded, pack.tile = 1, pack.oc = p.N, pack.ic = p.K, pack.oc_stride = p.sums.oc_stride, pack.ic_stride = p.sums.k_stride;
  const std::string label = "product int8 " + std::to_string(p.M) + "x" + std::to_string(p.K) + "x" + std::to_string(p.N);
  emit({u, l, in, *weights_of(u, u.op.integer("transB", 0) ? 0 : 1), pack, p.sums, Layout::Plain, label, ctx});
}

}  // namespace optima::llvm_cpu
