// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: see dynamic_product.hpp.
#include "plugins/llvm_cpu/lower/parts/dynamic_product.hpp"

#include <algorithm>

#include "plugins/llvm_cpu/compiler/tiles.hpp"
#include "plugins/llvm_cpu/kernels/codes_conv.hpp"
#include "plugins/llvm_cpu/kernels/integer.hpp"
#include "plugins/llvm_cpu/lower/parts/shapes.hpp"

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

/// Rows of bytes as the kernel multiplies them.
Operand rows_of(uint32_t value, int64_t M, int64_t K, int64_t padded, bool flip, LowerContext& ctx) {
  const Operand in = ctx.read(value);
  if (!flip && padded == K) return in;
  Operand rows = ctx.temporary(static_cast<uint64_t>(M * padded)), to = rows;
  to.written = true;
  Op op;
  op.kernel = k::CodesRows{.size = K, .padded = padded, .flip = flip ? 0x80 : 0};
  op.args = {in, to}, op.units = M, op.work = M * padded / 16, op.label = "rows of codes";
  ctx.emit(std::move(op));
  return rows;
}

/// Multipliers and biases, padded to whole vectors.
struct Columns {
  Operand scale, bias;
};
Columns columns_of(const NodeView& n, uint32_t scale, const std::string& weights, int64_t K, int64_t N, bool flip, LowerContext& ctx) {
  const int64_t lanes = divide_up(N, ctx.target().vector_width) * ctx.target().vector_width;
  std::vector<int32_t> sums(static_cast<size_t>(N), 0);
  for (int64_t k = 0; k < K; ++k)
    for (int64_t c = 0; c < N; ++c) sums[static_cast<size_t>(c)] += static_cast<int8_t>(weights[static_cast<size_t>(k * N + c)]);
  Columns out{ctx.temporary(static_cast<uint64_t>(lanes) * 4), ctx.temporary(static_cast<uint64_t>(lanes) * 4)};
  const bool is_signed = n.in_dtype(0) == OPTIMA_I8;
  Op op;
  op.kernel = k::DynamicColumns{.is_signed = is_signed, .shift = !flip ? 0 : is_signed ? 128 : -128, .scale_step = count(n.graph.dims(scale)) > 1 ? 1 : 0,
                                .N = N, .lanes = lanes};
  Operand scale_to = out.scale, bias_to = out.bias;
  scale_to.written = bias_to.written = true;
  op.args = {ctx.read(scale), n.has_input(2) ? ctx.read(n.input(2)) : LowerContext::null(), ctx.bytes(raw_bytes(sums)), scale_to, bias_to};
  op.work = lanes, op.label = "scales of a product";
  ctx.emit(std::move(op));
  return out;
}

}  // namespace

bool takes_dynamic_product(std::span<const NodeView> nodes, const Target&) {
  const NodeView& n = nodes[0];
  const GraphView& g = n.graph;
  if (nodes.size() < 3 || nodes.size() > 4 || n.op() != "MatMulInteger") return false;
  const Dims a = n.in_dims(0), b = n.in_dims(1);
  if (a.size() < 2 || b.size() != 2 || b[0] > kMostK || count(n.out_dims(0)) == 0 || !g.bytes(n.input(1)) || !is_centred(n)) return false;
  if (n.has_input(2) && count(n.in_dims(2)) != 1) return false;
  const NodeView &cast = nodes[1], &mul = nodes[2];
  if (cast.op() != "Cast" || cast.out_dtype(0) != OPTIMA_F32 || mul.op() != "Mul" || mul.out_dims(0) != n.out_dims(0)) return false;
  if (mul.input(0) == mul.input(1) || !by_column(g, other_input(mul, cast.output(0)), b[1])) return false;
  if (nodes.size() == 3) return true;
  const NodeView& add = nodes[3];
  if (add.op() != "Add" || add.input(0) == add.input(1) || add.out_dims(0) != n.out_dims(0)) return false;
  const uint32_t bias = other_input(add, mul.output(0));
  return by_column(g, bias, b[1]) && g.floats(bias).has_value();
}

void lower_dynamic_product(std::span<const NodeView> nodes, LowerContext& ctx) {
  const NodeView& n = nodes[0];
  const Target& t = ctx.target();
  const Dims b = n.in_dims(1);
  const int64_t K = b[0], N = b[1], M = count(n.in_dims(0)) / K, padded = divide_up(K, 4) * 4, blocks = divide_up(N, t.vector_width);
  std::string weights(*n.graph.bytes(n.input(1)));
  if (flips_weights(n))
    for (char& c : weights) c = static_cast<char>(c ^ 0x80);
  const bool flip = flips(n.in_dtype(0), t);
  const Operand in = rows_of(n.input(0), M, K, padded, flip, ctx);
  const Columns columns = columns_of(n, other_input(nodes[2], nodes[1].output(0)), weights, K, N, flip, ctx);
  Operand bias = LowerContext::null();
  if (nodes.size() == 4) {
    std::vector<float> all = *n.graph.floats(other_input(nodes[3], nodes[2].output(0)));
    if (all.size() == 1) all.assign(static_cast<size_t>(N), all[0]);
    all.resize(static_cast<size_t>(blocks * t.vector_width), 0);
    bias = ctx.bytes(raw_bytes(all));
  }
  k::CodesConv l{};
  l.dot = t.dot;
  l.G = 1, l.OC = N, l.float_bias = bias.kind != Operand::Null, l.quads = padded / 4, l.runs = {1, 1, 1}, l.N = 1;
  l.out = {1, 1, M}, l.in_step = {0, 0, padded}, l.out_pixel = N;
  const auto spec = [&](Tile x) {
    k::CodesConv s = l;
    s.OCB = x.oc_blocks, s.WT = x.width;
    s.by_tiles = divide_up(M, x.width) >= 48;
    return s;
  };
  const Tile tile = choose_codes_tile(t, {blocks, M, 1}, [&](Tile x) { return ctx.is_bad(spec(x)); });
  const k::CodesConv s = spec(tile);
  Pack pack;
  pack.kind = t.dot == k::Dot::Pairs ? Pack::CodePairs : Pack::Codes, pack.vector_width = t.vector_width, pack.oc_blocks = tile.oc_blocks;
  pack.in_block = padded, pack.tile = 1, pack.oc = N, pack.ic = K, pack.oc_stride = 1, pack.ic_stride = N;
  Op op;
  op.kernel = s;
  op.args = {in, flips_weights(n) ? ctx.bytes(weights, pack) : ctx.packed(n.input(1), pack), columns.scale, columns.bias, bias,
             ctx.bytes(raw_bytes(std::vector<float>(k::kEndNumbers, 0))), ctx.write(nodes.back().output(0))};
  op.units = s.by_tiles ? divide_up(M, s.WT) : divide_up(blocks, s.OCB);
  op.work = M * N * K / 4;
  op.label = "dynamic product int8 " + std::to_string(M) + "x" + std::to_string(K) + "x" + std::to_string(N);
  ctx.emit(std::move(op));
}

}  // namespace optima::llvm_cpu
