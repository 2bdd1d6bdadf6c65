// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: see dynamic_product.hpp.
#include "plugins/llvm_cpu/lower/parts/dynamic_product.hpp"

#include <algorithm>

#include "plugins/llvm_cpu/kernels/integer.hpp"
#include "plugins/llvm_cpu/lower/parts/codes_op.hpp"
#include "plugins/llvm_cpu/lower/parts/codes_window.hpp"
#include "plugins/llvm_cpu/lower/parts/conv_parts.hpp"

namespace optima::llvm_cpu {
namespace {

constexpr int64_t kMostK = 32768;  // sums of so many products of bytes, and their zero points, stay within 32 bits

/// The operand of a node of two that is not `value`.
uint32_t other_input(const NodeView& n, uint32_t value) { return n.input(n.input(0) == value ? 1 : 0); }

/// One float, or one per column of the result.
bool by_column(const GraphView& g, uint32_t value, int64_t columns) {
  if (g.dtype(value) != OPTIMA_F32 || !g.is_static(value)) return false;
  const Dims dims = g.dims(value);
  return count(dims) == 1 || (count(dims) == columns && dims.back() == columns);
}

/// Signed weights without a zero point; codes around 128 become so by a flip of their top bit.
bool flips_weights(const NodeView& n) { return n.in_dtype(1) == OPTIMA_U8; }
bool is_centred(const NodeView& n) {
  if (!n.has_input(3)) return !flips_weights(n);
  const auto zeros = n.graph.small_integers(n.input(3));
  return zeros && std::all_of(zeros->begin(), zeros->end(), [&](int32_t z) { return z == (flips_weights(n) ? 128 : 0); });
}

/// Multipliers and biases, padded to whole vectors.
struct Columns {
  Operand scale, bias;
};
/// `sums`: of the weights, per column of each of G groups. interleaved: in the order of lanes of the depthwise kernel.
Columns columns_of(const NodeView& n, uint32_t scale, const std::vector<int32_t>& sums, int64_t G, bool flip, bool interleaved, LowerContext& ctx) {
  const int64_t whole = ctx.target().vector_width * (interleaved ? 4 : 1);
  const int64_t N = static_cast<int64_t>(sums.size()) / G, lanes = divide_up(N, whole) * whole;
  Columns out{ctx.temporary(static_cast<uint64_t>(G * lanes) * 4), ctx.temporary(static_cast<uint64_t>(G * lanes) * 4)};
  const bool is_signed = n.in_dtype(0) == OPTIMA_I8;
  Op op;
  op.kernel = k::DynamicColumns{.is_signed = is_signed, .shift = !flip ? 0 : is_signed ? 128 : -128, .scale_step = count(n.graph.dims(scale)) > 1 ? 1 : 0,
                                .G = G, .N = N, .lanes = lanes, .interleaved = interleaved};
  Operand scale_to = out.scale, bias_to = out.bias;
  scale_to.written = bias_to.written = true;
  op.args = {ctx.read(scale), n.has_input(2) ? ctx.read(n.input(2)) : LowerContext::null(), ctx.bytes(raw_bytes(sums)), scale_to, bias_to};
  op.work = G * lanes, op.label = "scales of a product";
  ctx.emit(std::move(op));
  return out;
}

/// The constants that the sums get as a bias, one per column or channel, or nothing.
std::vector<float> column_bias(std::span<const NodeView> nodes, int64_t columns) {
  if (nodes.size() < 4) return {};
  std::vector<float> all = *nodes[0].graph.floats(other_input(nodes[3], nodes[2].output(0)));
  if (all.size() == 1) all.assign(static_cast<size_t>(columns), all[0]);
  return all;
}

/// The same per lane of G groups, or null.
Operand bias_of(std::span<const NodeView> nodes, int64_t G, int64_t N, LowerContext& ctx) {
  const std::vector<float> all = column_bias(nodes, G * N);
  if (all.empty()) return LowerContext::null();
  const int64_t lanes = divide_up(N, ctx.target().vector_width) * ctx.target().vector_width;
  std::vector<float> out(static_cast<size_t>(G * lanes), 0);
  for (int64_t g = 0; g < G; ++g) std::copy_n(all.begin() + g * N, N, out.begin() + g * lanes);
  return ctx.bytes(raw_bytes(out));
}

std::string signed_weights(const NodeView& n) {
  std::string weights(*n.graph.bytes(n.input(1)));
  if (flips_weights(n))
    for (char& c : weights) c = static_cast<char>(c ^ 0x80);
  return weights;
}

/// The step. l lacks its tile; pack lacks what hangs on it.
void emit_codes(const NodeView& n, k::CodesConv l, Pack pack, const std::string& weights, const Operand& in, const Columns& columns, const Operand& bias,
                const Operand& out, int64_t work, std::string label, LowerContext& ctx) {
  l.float_bias = bias.kind != Operand::Null;
  Op step = codes_op(l, pack, count(n.in_dims(1)), ctx);
  step.args = {in, flips_weights(n) ? ctx.bytes(weights, pack) : ctx.packed(n.input(1), pack), columns.scale, columns.bias, bias,
               ctx.bytes(raw_bytes(std::vector<float>(k::kEndNumbers, 0))), out};
  step.work = work, step.label = std::move(label);
  ctx.emit(std::move(step));
}

/// Cast to float, Mul by a scale, and perhaps Add of constants, behind an operator on integers; `fits` says which operands do.
template <class F>
bool is_scaled(std::span<const NodeView> nodes, F fits) {
  if (nodes.size() < 3 || nodes.size() > 4) return false;
  const NodeView &n = nodes[0], &cast = nodes[1], &mul = nodes[2];
  if (cast.op() != "Cast" || cast.out_dtype(0) != OPTIMA_F32 || mul.op() != "Mul" || mul.out_dims(0) != n.out_dims(0)) return false;
  if (mul.input(0) == mul.input(1) || !fits(other_input(mul, cast.output(0)))) return false;
  if (nodes.size() == 3) return true;
  const NodeView& add = nodes[3];
  if (add.op() != "Add" || add.input(0) == add.input(1) || add.out_dims(0) != n.out_dims(0)) return false;
  const uint32_t bias = other_input(add, mul.output(0));
  return fits(bias) && n.graph.floats(bias).has_value();
}

}  // namespace

bool takes_dynamic_product(std::span<const NodeView> nodes, const Target&) {
  const NodeView& n = nodes[0];
  const Dims a = n.in_dims(0), b = n.in_dims(1);
  if (a.size() < 2 || b.size() != 2 || b[0] > kMostK || count(n.out_dims(0)) == 0 || !n.graph.bytes(n.input(1)) || !is_centred(n)) return false;
  if (n.has_input(2) && count(n.in_dims(2)) != 1) return false;
  return is_scaled(nodes, [&](uint32_t v) { return by_column(n.graph, v, b[1]); });
}

void lower_dynamic_product(std::span<const NodeView> nodes, LowerContext& ctx) {
  const NodeView& n = nodes[0];
  const Dims b = n.in_dims(1);
  const int64_t K = b[0], N = b[1], M = count(n.in_dims(0)) / K, padded = codes_row(ctx.target(), M, K);
  const std::string weights = signed_weights(n);
  std::vector<int32_t> sums(static_cast<size_t>(N), 0);
  for (size_t i = 0; i < weights.size(); ++i) sums[i % sums.size()] += static_cast<int8_t>(weights[i]);
  const bool flip = flips(n.in_dtype(0), ctx.target());
  const Operand in = rows_of_codes(ctx.read(n.input(0)), M, K, padded, flip, ctx);
  const Columns columns = columns_of(n, other_input(nodes[2], nodes[1].output(0)), sums, 1, flip, false, ctx);
  k::CodesConv l{};
  l.G = 1, l.OC = N, l.quads = padded / 4, l.runs = {1, 1, 1}, l.N = 1, l.out = {1, 1, M}, l.in_step = {0, 0, padded}, l.out_pixel = N;
  Pack pack;
  pack.in_block = padded, pack.oc = N, pack.ic = K, pack.oc_stride = 1, pack.ic_stride = N;
  const std::string label = "dynamic product int8 " + std::to_string(M) + "x" + std::to_string(K) + "x" + std::to_string(N);
  emit_codes(n, l, pack, weights, in, columns, bias_of(nodes, 1, N, ctx), ctx.write(nodes.back().output(0)), M * N * K / 4, label, ctx);
}

namespace {

/// One float, or one per channel.
bool by_channel(const GraphView& g, uint32_t value, const Dims& result) {
  if (g.dtype(value) != OPTIMA_F32 || !g.is_static(value)) return false;
  const Dims dims = g.dims(value);
  const size_t from_end = result.size() - 1;
  return count(dims) == 1 || (count(dims) == result[1] && dims.size() >= from_end && dims[dims.size() - from_end] == result[1]);
}

Window window_of(const NodeView& n) {
  const Dims weights = n.in_dims(1);
  return Window::of(n, {weights.begin() + 2, weights.end()});
}

void emit_depthwise(std::span<const NodeView> nodes, const Window& w, const Operand& in, int64_t pixel, const Columns& columns, LowerContext& ctx) {
  const Target& t = ctx.target();
  const uint32_t out = nodes.back().output(0);
  const std::vector<float> bias = column_bias(nodes, w.channels);
  k::CodesDepthwise l = depthwise_window(w, pixel, ctx.pixel(out), t);
  l.float_bias = !bias.empty();
  Op op;
  op.kernel = l;
  op.args = {in, ctx.bytes(depthwise_weights(signed_weights(nodes[0]), '\0', w, t)), columns.scale, columns.bias,
             bias.empty() ? LowerContext::null() : in_lanes(bias, ctx), ctx.bytes(raw_bytes(std::vector<float>(k::kEndNumbers, 0))), ctx.write(out, Layout::Last)};
  op.units = w.batch * w.out[0] * w.out[1];
  op.work = op.units * w.out[2] * w.channels * w.taps() / 4;
  op.label = "dynamic conv int8 depthwise " + describe(w);
  ctx.emit(std::move(op));
}

}  // namespace

bool takes_dynamic_conv(std::span<const NodeView> nodes, const Target& t) {
  const NodeView& n = nodes[0];
  const Dims w = n.in_dims(1);
  // Padding is a code as the operand has it, so those that would be flipped on their way stay with the general kernel.
  if (flips(n.in_dtype(0), t) || !n.graph.bytes(n.input(1)) || !is_centred(n) || count(w) / w[0] > kMostK) return false;
  const int64_t groups = n.integer("group", 1);
  if (groups != 1 && w[1] < 4 && !is_depthwise(window_of(n), groups)) return false;  // most of a quad would be padding
  return is_scaled(nodes, [&](uint32_t v) { return by_channel(n.graph, v, n.out_dims(0)); });
}

void lower_dynamic_conv(std::span<const NodeView> nodes, LowerContext& ctx) {
  const NodeView& n = nodes[0];
  Window w = window_of(n);
  const int64_t groups = n.integer("group", 1), each = w.channels / groups * w.taps(), pixel = ctx.pixel(n.input(0));
  const std::string weights = signed_weights(n);
  std::vector<int32_t> sums(static_cast<size_t>(w.out_channels), 0);
  for (size_t i = 0; i < weights.size(); ++i) sums[i / static_cast<size_t>(each)] += static_cast<int8_t>(weights[i]);
  const Operand zero = n.has_input(2) ? ctx.read(n.input(2)) : ctx.bytes(std::string(1, '\0'));  // of the run
  const Operand in = with_padding(ctx.read(n.input(0), Layout::Last), w, pixel, zero, ctx);
  const uint32_t scale = other_input(nodes[2], nodes[1].output(0)), out = nodes.back().output(0);
  if (is_depthwise(w, groups)) return emit_depthwise(nodes, w, in, pixel, columns_of(n, scale, sums, 1, false, true, ctx), ctx);
  const Columns columns = columns_of(n, scale, sums, groups, false, false, ctx);
  const CodesWindow x = dense_window(w, pixel, groups, ctx.pixel(out));
  emit_codes(n, x.literals, x.pack, weights, in, columns, bias_of(nodes, groups, x.literals.OC, ctx), ctx.write(out, Layout::Last),
             count(n.out_dims(0)) * each / 4, "dynamic conv int8 " + describe(w), ctx);
}

}  // namespace optima::llvm_cpu
