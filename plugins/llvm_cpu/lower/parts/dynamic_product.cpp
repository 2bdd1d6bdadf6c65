// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: see dynamic_product.hpp.
#include "plugins/llvm_cpu/lower/parts/dynamic_product.hpp"

#include <algorithm>
#include <optional>
#include <string_view>

#include "plugins/llvm_cpu/kernels/integer.hpp"
#include "plugins/llvm_cpu/lower/parts/codes_op.hpp"
#include "plugins/llvm_cpu/lower/parts/codes_window.hpp"
#include "plugins/llvm_cpu/lower/parts/conv_parts.hpp"

namespace optima::llvm_cpu {
namespace {

constexpr int64_t kMostK = 32768;  // sums of so many products of bytes, and their zero points, stay within 32 bits

/// The operand of a node of two that is not `value`.
uint32_t other_input(const NodeView& n, uint32_t value) { return n.input(n.input(0) == value ? 1 : 0); }

/// One number of this type, or one per column of the result.
bool by_column(const GraphView& g, uint32_t value, int32_t type, int64_t columns) {
  if (g.dtype(value) != type || !g.is_static(value)) return false;
  const Dims dims = g.dims(value);
  return count(dims) == 1 || (count(dims) == columns && dims.back() == columns);
}

/// What follows the product. addend: integers that its sums get first, or OPTIMA_NONE: older quantizers make the bias so, in the run.
struct Behind {
  uint32_t addend = OPTIMA_NONE;
  std::span<const NodeView> scaled;  ///< Cast, Mul, and perhaps Add
};
Behind behind(std::span<const NodeView> nodes) {
  if (nodes.size() < 2 || nodes[1].op() != "Add") return {OPTIMA_NONE, nodes.subspan(1)};
  return {other_input(nodes[1], nodes[0].output(0)), nodes.subspan(2)};
}
uint32_t scale_of(const Behind& b) { return other_input(b.scaled[1], b.scaled[0].output(0)); }

/// Weights as they are given, and their zero points, one or one per column. Column of weight i: i / each % columns.
struct Given {
  std::string_view bytes;
  bool is_signed;
  std::vector<int32_t> zeros;
  int64_t each, columns;

  int32_t at(size_t i) const { return is_signed ? static_cast<int8_t>(bytes[i]) : static_cast<uint8_t>(bytes[i]); }
};
/// Nothing where the weights or their zero points are made in the run.
std::optional<Given> given(const NodeView& n, int64_t each, int64_t columns) {
  const auto weights = n.graph.bytes(n.input(1));
  if (!weights) return std::nullopt;
  Given out{*weights, n.in_dtype(1) != OPTIMA_U8, {0}, each, columns};
  if (!n.has_input(3)) return out;
  const auto zeros = n.graph.small_integers(n.input(3));
  if (!zeros || (zeros->size() != 1 && static_cast<int64_t>(zeros->size()) != columns)) return std::nullopt;
  out.zeros = *zeros;
  return out;
}
/// f(first, past, column) for the weights in order, those of one column that lie side by side at a time: a model has millions, and every plan asks.
template <class F>
void each_run(size_t count, int64_t each, int64_t columns, F f) {
  const auto run = static_cast<size_t>(each);
  for (size_t at = 0; at < count;)
    for (size_t c = 0; c < static_cast<size_t>(columns) && at < count; ++c, at += run) f(at, at + run, c);
}

constexpr int32_t kLeast = -128, kMost = 127;

/// f(first, past, zero point) for the weights in order, as many at a time as lie side by side and have one.
template <class F>
void each_zero(const Given& g, F f) {
  if (g.bytes.empty()) return;
  if (g.zeros.size() == 1) return f(size_t{0}, g.bytes.size(), g.zeros[0]);
  each_run(g.bytes.size(), g.each, g.columns, [&](size_t first, size_t past, size_t column) { f(first, past, g.zeros[column]); });
}

/// How many signed bytes it takes to sum up to any weight less its zero point.
int64_t sets_of(const Given& g) {
  int32_t low = 0, high = 0;
  each_zero(g, [&](size_t first, size_t past, int32_t zero) {
    int32_t least = g.at(first), most = least;
    for (size_t i = first; i < past; ++i) least = std::min(least, g.at(i)), most = std::max(most, g.at(i));
    low = std::min(low, least - zero), high = std::max(high, most - zero);
  });
  return std::max<int64_t>({1, (low + kLeast + 1) / kLeast, divide_up(high, kMost)});
}

/// Weights less their zero points, which bytes may not hold: then as some sets of bytes, one after the other, that are to be summed; or, per column, `times` the sum of
/// a pixel's codes is to be added.
struct Centred {
  std::string bytes;
  int64_t sets = 0;
  bool as_given = true;  ///< they are those of the operand
  std::vector<int32_t> times;
};
/// Whether kernels sum up a pixel's codes.
bool sums_pixels(const Target& t) { return t.dot != k::Dot::Pairs && !t.amx; }

/// As one set of signed bytes, and what is left of the zero points.
Centred with_times(const Given& g) {
  const int32_t middle = g.is_signed ? 0 : 128;
  Centred out{std::string(g.bytes), 1, g.is_signed, {}};
  if (!g.is_signed)
    for (char& b : out.bytes) b = static_cast<char>(b ^ '\x80');
  for (int64_t c = 0; c < g.columns; ++c) out.times.push_back(middle - g.zeros[g.zeros.size() == 1 ? 0 : static_cast<size_t>(c)]);
  return out;
}

/// sums: with_times() will do.
Centred centred(const Given& g, bool sums) {
  const int64_t sets = sets_of(g);
  if (sums && sets > 1) return with_times(g);
  const size_t count = g.bytes.size();
  Centred out;
  out.sets = sets;
  out.bytes.resize(count * static_cast<size_t>(out.sets));
  each_zero(g, [&](size_t first, size_t past, int32_t zero) {
    for (size_t i = first; i < past; ++i) {
      int32_t left = g.at(i) - zero;
      for (size_t at = i; at < out.bytes.size(); at += count) {
        const int32_t near = std::clamp(left, kLeast, kMost);
        out.bytes[at] = static_cast<char>(near), left -= near;
      }
    }
  });
  out.as_given = out.sets == 1 && out.bytes == g.bytes;
  return out;
}
/// Sums of weights per column.
std::vector<int32_t> sums_of(const Centred& w, int64_t each, int64_t columns) {
  std::vector<int32_t> sums(static_cast<size_t>(columns), 0);
  const auto weights = static_cast<int32_t>(static_cast<int64_t>(w.bytes.size()) / columns);
  for (size_t c = 0; c < w.times.size(); ++c) sums[c] = w.times[c] * weights;
  each_run(w.bytes.size(), each, columns, [&](size_t first, size_t past, size_t column) {
    for (size_t i = first; i < past; ++i) sums[column] += static_cast<int8_t>(w.bytes[i]);
  });
  return sums;
}

/// Multipliers and biases, padded to whole vectors.
struct Columns {
  Operand scale, bias;
};
/// `sums`: of the weights, per column of each of G groups. interleaved: in the order of lanes of the depthwise kernel.
Columns columns_of(const NodeView& n, const Behind& b, const std::vector<int32_t>& sums, int64_t G, bool flip, bool interleaved, LowerContext& ctx) {
  const int64_t whole = ctx.target().vector_width * (interleaved ? 4 : 1);
  const int64_t N = static_cast<int64_t>(sums.size()) / G, lanes = divide_up(N, whole) * whole;
  Columns out{ctx.temporary(static_cast<uint64_t>(G * lanes) * 4), ctx.temporary(static_cast<uint64_t>(G * lanes) * 4)};
  const bool is_signed = n.in_dtype(0) == OPTIMA_I8, adds = b.addend != OPTIMA_NONE;
  const auto step = [&](uint32_t value) { return count(n.graph.dims(value)) > 1 ? 1 : 0; };
  Op op;
  op.kernel = k::DynamicColumns{.is_signed = is_signed, .shift = !flip ? 0 : is_signed ? 128 : -128, .scale_step = step(scale_of(b)),
                                .addend_step = adds ? step(b.addend) : 0, .G = G, .N = N, .lanes = lanes, .interleaved = interleaved};
  Operand scale_to = out.scale, bias_to = out.bias;
  scale_to.written = bias_to.written = true;
  op.args = {ctx.read(scale_of(b)), n.has_input(2) ? ctx.read(n.input(2)) : LowerContext::null(), ctx.bytes(raw_bytes(sums)), scale_to, bias_to,
             adds ? ctx.read(b.addend) : LowerContext::null()};
  op.work = G * lanes, op.label = "scales of a product";
  ctx.emit(std::move(op));
  return out;
}

/// A number per column, per lane of G groups.
template <class T>
std::vector<T> in_groups(const std::vector<T>& all, int64_t G, const Target& t) {
  const int64_t N = static_cast<int64_t>(all.size()) / G, lanes = divide_up(N, t.vector_width) * t.vector_width;
  std::vector<T> out(static_cast<size_t>(G * lanes), 0);
  for (int64_t g = 0; g < G; ++g) std::copy_n(all.begin() + g * N, N, out.begin() + g * lanes);
  return out;
}

/// The constants that the sums get as a bias, one per column or channel, or nothing.
std::vector<float> column_bias(const Behind& b, int64_t columns) {
  if (b.scaled.size() < 3) return {};
  std::vector<float> all = *b.scaled[2].graph.floats(other_input(b.scaled[2], b.scaled[1].output(0)));
  if (all.size() == 1) all.assign(static_cast<size_t>(columns), all[0]);
  return all;
}

/// The same per lane of G groups, or null.
Operand bias_of(const Behind& b, int64_t G, int64_t N, LowerContext& ctx) {
  const std::vector<float> all = column_bias(b, G * N);
  return all.empty() ? LowerContext::null() : ctx.bytes(raw_bytes(in_groups(all, G, ctx.target())));
}

/// Bytes of a run that are codes of a pixel's `channels`, of which it has so many bytes: 1; those that fill it up: 0.
std::string ones_of(int64_t bytes, int64_t pixel, int64_t channels) {
  std::string out(static_cast<size_t>(bytes), '\0');
  for (int64_t b = 0; b < bytes; ++b) out[static_cast<size_t>(b)] = b % pixel < channels ? '\1' : '\0';
  return out;
}

/// The step. l lacks its tile; pack lacks what hangs on it.
void emit_codes(const NodeView& n, k::CodesConv l, Pack pack, const Centred& weights, const Operand& in, const Columns& columns, const Operand& bias,
                const Operand& out, int64_t work, std::string label, LowerContext& ctx) {
  l.float_bias = bias.kind != Operand::Null;
  l.adds_sums = !weights.times.empty();
  Op step = codes_op(l, pack, static_cast<int64_t>(weights.bytes.size()), ctx);
  step.args = {in, weights.as_given ? ctx.packed(n.input(1), pack) : ctx.bytes(weights.bytes, pack), columns.scale, columns.bias, bias,
               ctx.bytes(raw_bytes(std::vector<float>(k::kEndNumbers, 0))), out};
  if (l.adds_sums) {
    step.args.push_back(ctx.bytes(ones_of(l.quads * 4, pack.in_block, pack.ic)));
    step.args.push_back(ctx.bytes(raw_bytes(in_groups(weights.times, l.G, ctx.target()))));
  }
  step.work = work, step.label = std::move(label);
  ctx.emit(std::move(step));
}

/// Add of integers, Cast to float, Mul by a scale, and Add of constants, the first and last of which may lack; `fits` says which operands, of
/// which type, do.
template <class F>
bool is_scaled(std::span<const NodeView> nodes, F fits) {
  const Behind b = behind(nodes);
  if (b.scaled.size() < 2 || b.scaled.size() > 3) return false;
  const NodeView &n = nodes[0], &cast = b.scaled[0], &mul = b.scaled[1];
  if (b.addend != OPTIMA_NONE && (b.addend == n.output(0) || nodes[1].out_dims(0) != n.out_dims(0) || !fits(b.addend, OPTIMA_I32))) return false;
  if (cast.op() != "Cast" || cast.out_dtype(0) != OPTIMA_F32 || mul.op() != "Mul" || mul.out_dims(0) != n.out_dims(0)) return false;
  if (mul.input(0) == mul.input(1) || !fits(scale_of(b), OPTIMA_F32)) return false;
  if (b.scaled.size() == 2) return true;
  const NodeView& add = b.scaled[2];
  if (add.op() != "Add" || add.input(0) == add.input(1) || add.out_dims(0) != n.out_dims(0)) return false;
  const uint32_t bias = other_input(add, mul.output(0));
  return fits(bias, OPTIMA_F32) && n.graph.floats(bias).has_value();
}

}  // namespace

bool takes_dynamic_product(std::span<const NodeView> nodes, const Target&) {
  const NodeView& n = nodes[0];
  const Dims a = n.in_dims(0), b = n.in_dims(1);
  if (a.size() < 2 || b.size() != 2 || count(n.out_dims(0)) == 0 || (n.has_input(2) && count(n.in_dims(2)) != 1)) return false;
  if (!is_scaled(nodes, [&](uint32_t v, int32_t type) { return by_column(n.graph, v, type, b[1]); })) return false;
  const auto weights = given(n, 1, b[1]);
  return weights && b[0] * sets_of(*weights) <= kMostK;
}

void lower_dynamic_product(std::span<const NodeView> nodes, LowerContext& ctx) {
  const NodeView& n = nodes[0];
  const Dims b = n.in_dims(1);
  const int64_t K = b[0], N = b[1], M = count(n.in_dims(0)) / K, padded = codes_row(ctx.target(), M, K);
  const Centred weights = centred(*given(n, 1, N), sums_pixels(ctx.target()));
  const Behind after = behind(nodes);
  const bool flip = flips(n.in_dtype(0), ctx.target());
  const Operand in = rows_of_codes(ctx.read(n.input(0)), M, K, padded, flip, ctx);
  const Columns columns = columns_of(n, after, sums_of(weights, 1, N), 1, flip, false, ctx);
  k::CodesConv l{};
  l.G = 1, l.OC = N, l.quads = padded / 4, l.runs = {weights.sets, 1, 1}, l.N = 1, l.out = {1, 1, M}, l.in_step = {0, 0, padded}, l.out_pixel = N;
  Pack pack;
  pack.in_block = padded, pack.oc = N, pack.ic = K, pack.oc_stride = 1, pack.ic_stride = N;
  pack.kd = weights.sets, pack.kd_stride = K * N;
  const std::string label = "dynamic product int8 " + std::to_string(M) + "x" + std::to_string(K) + "x" + std::to_string(N);
  emit_codes(n, l, pack, weights, in, columns, bias_of(after, 1, N, ctx), ctx.write(nodes.back().output(0)), M * N * K * weights.sets / 4, label, ctx);
}

namespace {

/// One number of this type, or one per channel.
bool by_channel(const GraphView& g, uint32_t value, int32_t type, const Dims& result) {
  if (g.dtype(value) != type || !g.is_static(value)) return false;
  const Dims dims = g.dims(value);
  const size_t from_end = result.size() - 1;
  return count(dims) == 1 || (count(dims) == result[1] && dims.size() >= from_end && dims[dims.size() - from_end] == result[1]);
}

Window window_of(const NodeView& n) {
  const Dims weights = n.in_dims(1);
  return Window::of(n, {weights.begin() + 2, weights.end()});
}

/// Each channel's taps, set by set.
std::string by_channels(const Centred& weights, int64_t channels) {
  const size_t sets = static_cast<size_t>(weights.sets), count = weights.bytes.size() / sets, taps = count / static_cast<size_t>(channels);
  std::string out;
  for (size_t at = 0; at < count; at += taps)
    for (size_t set = 0; set < sets; ++set) out.append(weights.bytes, set * count + at, taps);
  return out;
}

void emit_depthwise(std::span<const NodeView> nodes, const Centred& weights, Window w, const Operand& in, int64_t pixel, const Columns& columns,
                    LowerContext& ctx) {
  const Target& t = ctx.target();
  const std::string label = describe(w);
  const uint32_t out = nodes.back().output(0);
  const std::vector<float> bias = column_bias(behind(nodes), w.channels);
  if (weights.sets > 1) w.kernel[0] = weights.sets;  // all at the same place
  k::CodesDepthwise l = depthwise_window(w, pixel, ctx.pixel(out), t);
  if (weights.sets > 1) l.tap_step.d = 0;
  l.float_bias = !bias.empty();
  Op op;
  op.kernel = l;
  op.args = {in, ctx.bytes(depthwise_weights(by_channels(weights, w.channels), '\0', w, t)), columns.scale, columns.bias,
             bias.empty() ? LowerContext::null() : in_lanes(bias, ctx), ctx.bytes(raw_bytes(std::vector<float>(k::kEndNumbers, 0))), ctx.write(out, Layout::Last)};
  op.units = w.batch * w.out[0] * w.out[1];
  op.work = op.units * w.out[2] * w.channels * w.taps() / 4;
  op.label = "dynamic conv int8 depthwise " + label;
  ctx.emit(std::move(op));
}

}  // namespace

bool takes_dynamic_conv(std::span<const NodeView> nodes, const Target& t) {
  const NodeView& n = nodes[0];
  const Dims w = n.in_dims(1);
  // Padding is a code as the operand has it, so those that would be flipped on their way stay with the general kernel.
  if (flips(n.in_dtype(0), t)) return false;
  const int64_t groups = n.integer("group", 1), each = count(w) / w[0];
  const bool depthwise = is_depthwise(window_of(n), groups);
  if (groups != 1 && w[1] < 4 && !depthwise) return false;  // most of a quad would be padding
  if (!is_scaled(nodes, [&](uint32_t v, int32_t type) { return by_channel(n.graph, v, type, n.out_dims(0)); })) return false;
  const auto weights = given(n, each, w[0]);
  const int64_t sets = weights ? sets_of(*weights) : 0;
  if (!weights || each * sets > kMostK) return false;
  return sets == 1 || window_of(n).kernel[0] == 1;  // further sets are read as taps along D
}

void lower_dynamic_conv(std::span<const NodeView> nodes, LowerContext& ctx) {
  const NodeView& n = nodes[0];
  Window w = window_of(n);
  const int64_t groups = n.integer("group", 1), each = w.channels / groups * w.taps(), pixel = ctx.pixel(n.input(0));
  const bool depthwise = is_depthwise(w, groups);
  const Centred weights = centred(*given(n, each, w.out_channels), sums_pixels(ctx.target()) && !depthwise);
  const std::vector<int32_t> sums = sums_of(weights, each, w.out_channels);
  const Behind after = behind(nodes);
  const Operand zero = n.has_input(2) ? ctx.read(n.input(2)) : ctx.bytes(std::string(1, '\0'));  // of the run
  const Operand in = with_padding(ctx.read(n.input(0), Layout::Last), w, pixel, zero, ctx);
  const uint32_t out = nodes.back().output(0);
  if (depthwise) return emit_depthwise(nodes, weights, w, in, pixel, columns_of(n, after, sums, 1, false, true, ctx), ctx);
  const Columns columns = columns_of(n, after, sums, groups, false, false, ctx);
  CodesWindow x = dense_window(w, pixel, groups, ctx.pixel(out));
  if (weights.sets > 1) {
    x.literals.runs.d = x.pack.kd = weights.sets, x.literals.run_step.d = 0;
    x.pack.kd_stride = w.out_channels * each;
  }
  emit_codes(n, x.literals, x.pack, weights, in, columns, bias_of(after, groups, x.literals.OC, ctx), ctx.write(out, Layout::Last),
             count(n.out_dims(0)) * each * weights.sets / 4, "dynamic conv int8 " + describe(w), ctx);
}

}  // namespace optima::llvm_cpu
