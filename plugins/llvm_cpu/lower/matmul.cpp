// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: MatMul and Gemm, constant or computed operands, with the tail that follows them.
#include <algorithm>
#include <numeric>

#include "plugins/llvm_cpu/compiler/tail.hpp"
#include "plugins/llvm_cpu/compiler/work.hpp"
#include "plugins/llvm_cpu/kernels/matmul.hpp"
#include "plugins/llvm_cpu/lower/parts/block_product.hpp"
#include "plugins/llvm_cpu/lower/parts/codes_conv.hpp"
#include "plugins/llvm_cpu/lower/parts/codes_matmul.hpp"
#include "plugins/llvm_cpu/lower/parts/dense.hpp"
#include "plugins/llvm_cpu/lower/parts/matrix_product.hpp"
#include "plugins/llvm_cpu/lower/parts/pairs.hpp"
#include "plugins/llvm_cpu/lower/parts/program.hpp"
#include "plugins/llvm_cpu/lower/parts/shapes.hpp"

namespace optima::llvm_cpu {
namespace {

using Mode = k::MatmulB;

using Product = MatrixProduct;
using Batch = Product::Batch;

struct Tile {
  int64_t rows, blocks;
};

/// Accumulators: rows * blocks, plus blocks for B and one for A, in the registers there are. A constant B is packed by the blocks: for many sizes all numbers of
/// rows have the same.
Tile tile_of(const Product& p, const Target& t, bool constant) {
  const int64_t n = divide_up(p.N, t.vector_width);
  const bool few = t.registers < 32, steady = t.many_sizes && constant;
  if (p.M == 1 && !steady) return {1, std::min<int64_t>(n, 8)};
  if (p.M <= 3 && !steady) return {p.M, std::min<int64_t>(n, few ? 3 : 6)};
  if (few) return {p.M < 4 ? p.M : p.M % 4 == 0 || p.M > 12 ? 4 : p.M % 3 == 0 ? 3 : 4, std::min<int64_t>(n, 3)};
  if (p.M <= 5 && !steady) return {p.M, std::min<int64_t>(n, 4)};
  const int64_t blocks = n <= 3 ? n : n % 3 == 0 || n > 8 ? 3 : n % 2 == 0 ? 2 : 3;
  Tile best{8, blocks};
  for (const int64_t rows : {7, 6})
    if (divide_up(p.M, rows) * rows < divide_up(p.M, best.rows) * best.rows) best.rows = rows;
  if (p.M < 8) best.rows = p.M;
  return best;
}

/// B's constant panels.
Pack panels(const Product& p, const Tile& tile, const Target& t) {
  Pack k;
  k.kind = Pack::Dense, k.vector_width = t.vector_width, k.oc_blocks = tile.blocks, k.in_block = 1;
  k.groups = p.matrices, k.group_stride = p.K * p.N, k.oc = p.N, k.ic = p.K, k.oc_stride = p.sbn, k.ic_stride = p.sbk;
  return k;
}

/// Operands of the epilogue: null where there is none.
struct Tail {
  Operand bias, row_bias, addend, residual;
  k::Activation act{k::Act::None, 0, 0};
  int64_t columns = 1;
};

/// Rows per unit: a share of A that stays in L2, and enough units for all threads.
int64_t rows_per_unit(const Product& p, const Tile& tile, int64_t others, Mode mode) {
  int64_t rows = std::max<int64_t>(tile.rows, (int64_t{96} << 10) / std::max<int64_t>(1, p.K) / tile.rows * tile.rows);
  if (mode == Mode::Dynamic) rows = std::max<int64_t>(rows, 256 / tile.rows * tile.rows);  // every cut packs the panel again
  while (rows > 2 * tile.rows && divide_up(p.M, rows) * others < 8 && mode != Mode::Dynamic) rows = divide_up(rows / 2, tile.rows) * tile.rows;
  return std::min(rows, divide_up(p.M, tile.rows) * tile.rows);
}

Operand moved(Operand o, int64_t elements) {
  if (o.kind != Operand::Null) o.offset += static_cast<uint64_t>(elements) * sizeof(float);
  return o;
}

/// One step for the last two batch dims; more of them are as many steps.
void emit_product(const Product& p, Operand a, Operand b, Operand c, Tail tail, Mode mode, const Tile& tile, LowerContext& ctx) {
  if (p.batch.size() > 2) {
    Product inner = p;
    inner.batch.erase(inner.batch.begin());
    const Batch& d = p.batch.front();
    for (int64_t i = 0; i < d.size; ++i) {
      Tail t = tail;
      t.addend = moved(tail.addend, i * d.c), t.residual = moved(tail.residual, i * d.c);
      emit_product(inner, moved(a, i * d.a), moved(b, i * d.b), moved(c, i * d.c), t, mode, tile, ctx);
    }
    return;
  }
  std::vector<Batch> two = p.batch;
  while (two.size() < 2) two.insert(two.begin(), {1, 0, 0, 0});
  const int64_t vl = ctx.target().vector_width, groups = divide_up(divide_up(p.N, vl), tile.blocks), batches = two[0].size * two[1].size;
  const int64_t rows = rows_per_unit(p, tile, groups * batches, mode);
  const int64_t epilogue = (tail.bias.kind ? k::kColumnBias : 0) | (tail.row_bias.kind ? k::kRowBias : 0) | (tail.addend.kind ? k::kAddend : 0) |
                           (tail.residual.kind ? k::kResidualMatrix : 0);
  const int64_t ahead = mode == Mode::Packed && ctx.target().far_weights ? 4096 : 0;
  Op op;
  op.kernel = k::Matmul{.mr = tile.rows, .nb = tile.blocks, .mb = rows, .packed = mode == Mode::Packed, .in_place = mode == Mode::InPlace, .ahead = ahead, .epilogue = epilogue, .act = tail.act,
                        .alpha = p.alpha, .M = p.M, .N = p.N, .K = p.K, .sam = p.sam, .sak = p.sak, .sbk = p.sbk, .sbn = p.sbn, .scm = p.scm,
                        .b1 = two[1].size, .sa0 = two[0].a, .sa1 = two[1].a, .sb0 = two[0].b, .sb1 = two[1].b, .sc0 = two[0].c, .sc1 = two[1].c};
  op.args = {a, b, tail.bias, tail.row_bias, tail.addend, tail.residual, c};
  op.units = batches * divide_up(p.M, rows) * groups;
  if (mode == Mode::Dynamic) op.scratch_per_thread = static_cast<uint64_t>(p.K * tile.blocks * vl) * sizeof(float);
  op.work = batches * (mode == Mode::Packed ? std::max(p.M, work::kStreamed) : p.M) * p.N * p.K;
  op.label = "matmul " + std::to_string(p.M) + "x" + std::to_string(p.K) + "x" + std::to_string(p.N) +
             (batches > 1 ? " *" + std::to_string(batches) : "");
  ctx.emit(std::move(op));
}

/// Gemm's C is a number for each row, as sums of squares are; of one row, a single one that is computed.
bool is_row_bias(const NodeView& n, const Product& p) {
  if (!n.has_input(2)) return false;
  const Dims c = n.in_dims(2);
  return p.M == 1 ? count(c) == 1 && !n.graph.floats(n.input(2)) : c.size() == 2 && c[0] > 1 && c[1] == 1;
}

/// Gemm's C times beta, by its shape.
void take_c(const NodeView& n, const Product& p, Tail& tail, LowerContext& ctx) {
  if (!n.has_input(2)) return;
  const Dims dims = n.in_dims(2);
  const float beta = n.real("beta", 1);
  const bool one = count(dims) == 1;
  const auto numbers = n.graph.floats(n.input(2));
  Operand c;
  if (numbers && (beta != 1 || (one && p.N > 1))) {
    std::vector<float> scaled = *numbers;
    if (one) scaled.assign(static_cast<size_t>(p.N), scaled[0]);
    for (float& v : scaled) v *= beta;
    c = ctx.bytes({reinterpret_cast<const char*>(scaled.data()), scaled.size() * sizeof(float)});
  } else {
    c = ctx.read(n.input(2));
  }
  if (is_row_bias(n, p)) tail.row_bias = c;
  else if (one || count(dims) == p.N) tail.bias = c;
  else tail.addend = c;
}

/// act(v + residual) or act(v) + residual.
void take_residual(const FusedTail& fused, int64_t elements, Tail& tail, LowerContext& ctx) {
  const Operand residual = ctx.read(fused.residual);
  if (fused.residual_after || (tail.addend.kind && fused.act.kind == k::Act::None)) {
    tail.residual = residual;
  } else if (!tail.addend.kind) {
    tail.addend = residual;
  } else {  // two matrices before the activation: their sum first
    Program both({elements});
    Operand sum = ctx.temporary(static_cast<uint64_t>(elements) * sizeof(float));
    const auto id = both.apply("add"_op, {both.load(tail.addend, OPTIMA_F32, {1}), both.load(residual, OPTIMA_F32, {1})});
    Operand to = sum;
    to.written = true;
    both.store(to, id, {1});
    ctx.emit(both.finish(ctx.target()));
    tail.addend = sum;
  }
}

/// A bias per column from an addition, beside Gemm's own.
void take_bias(const FusedTail& fused, Tail& tail, LowerContext& ctx) {
  if (!tail.bias.kind) {
    tail.bias = ctx.read(fused.bias);
    return;
  }
  const int64_t columns = tail.columns;
  Program both({columns});
  Operand sum = ctx.temporary(static_cast<uint64_t>(columns) * sizeof(float)), to = sum;
  to.written = true;
  both.store(to, both.apply("add"_op, {both.load(tail.bias, OPTIMA_F32, {1}), both.load(ctx.read(fused.bias), OPTIMA_F32, {1})}), {1});
  ctx.emit(both.finish(ctx.target()));
  tail.bias = sum;
}

/// What kernels/pairs.hpp can do: one matrix, rows that lie in one piece, whole steps of inputs.
bool multiplies_pairs(const NodeView& n, const Target& t) {
  if (!are_pairs(n, t)) return false;
  const Product p = product_of(n);
  return p.batch.empty() && p.matrices == 1 && p.sak == 1 && p.alpha == 1 && p.K % 32 == 0 && !is_row_bias(n, p);
}

void emit_pairs(const NodeView& n, const Product& p, const Tail& tail, uint32_t out, LowerContext& ctx) {
  const int64_t lanes = (p.N - 1) % 16 + 1;
  const k::Pairs shape{.tiles = 0, .OCB = 0, .images = 1, .lines = 1, .rows = p.M, .line_block = 1, .row_block = 1, .KH = 1, .KW = 1, .IC = p.K, .N = p.N, .lanes = lanes,
                       .in_image = 0, .in_line = 0, .in_row = p.sam, .in_tap_y = 0, .in_tap_x = 0, .out_image = 0, .out_line = 0, .out_row = p.scm,
                       .out_block = 16, .bias = 0, .before = 0, .after = 0, .act = tail.act};
  const Operand a = ctx.read(n.input(0), Layout::Narrow), b = ctx.packed(n.input(1), pairs_pack(p.N, p.K, p.sbn, p.sbk));
  Op op = pairs_op(shape, {a, b, tail.bias, tail.addend, tail.residual, ctx.write(out)}, ctx.target());
  op.label = "matmul bf16 " + std::to_string(p.M) + "x" + std::to_string(p.K) + "x" + std::to_string(p.N);
  ctx.emit(std::move(op));
}

/// Values of the graph.
struct Operands {
  const GraphView& graph;
  uint32_t out, a, b;
};

void emit_operands(Product p, const Operands& of, const Tail& tail, LowerContext& ctx) {
  const bool constant = of.graph.is_known(of.b) && p.matrices > 0;
  const Tile tile = tile_of(p, ctx.target(), constant);
  const int64_t vl = ctx.target().vector_width;
  Mode mode = constant ? Mode::Packed : p.sbn == 1 && p.N % vl == 0 && p.M <= 2 * tile.rows ? Mode::InPlace : Mode::Dynamic;
  const Operand a = ctx.read(of.a), b = mode == Mode::Packed ? ctx.packed(of.b, panels(p, tile, ctx.target())) : ctx.read(of.b);
  if (mode == Mode::Packed)
    for (Batch& d : p.batch) d.b = d.b / (p.K * p.N) * (divide_up(p.N, vl) * vl * p.K);
  const Operand c = ctx.write(of.out);
  if (count(of.graph.dims(of.out)) == 0) return;
  emit_product(p, a, b, c, tail, mode, tile, ctx);
}

void lower_product(std::span<const NodeView> nodes, LowerContext& ctx) {
  const NodeView& n = nodes[0];
  const bool gemm = n.op() == "Gemm";
  Product p = product_of(n);
  const FusedTail fused = tail_of(nodes);
  Tail tail;
  tail.columns = p.N;
  p.alpha *= static_cast<float>(fused.factor);
  if (gemm) take_c(n, p, tail, ctx);
  if (fused.bias != OPTIMA_NONE) take_bias(fused, tail, ctx);
  tail.act = fused.act;
  if (fused.residual != OPTIMA_NONE) take_residual(fused, count(nodes.back().out_dims(0)), tail, ctx);
  if (multiplies_pairs(n, ctx.target())) return emit_pairs(n, p, tail, nodes.back().output(0), ctx);
  emit_operands(std::move(p), {n.graph, nodes.back().output(0), n.input(0), n.input(1)}, tail, ctx);
}

}  // namespace

void emit_dense(int64_t M, int64_t N, int64_t K, const Operand& a, const std::vector<float>& weights, const Operand& bias, const Operand& c,
                LowerContext& ctx) {
  Product p;
  p.M = M, p.N = N, p.K = K, p.sam = K, p.sbk = 1, p.sbn = K, p.scm = N;
  const Tile tile = tile_of(p, ctx.target(), true);
  Tail tail;
  tail.bias = bias;
  emit_product(p, a, ctx.bytes(raw_bytes(weights), panels(p, tile, ctx.target())), c, tail, Mode::Packed, tile, ctx);
}

void emit_matrix_product(const MatrixProduct& product, const NodeView& node, uint32_t a, uint32_t b, LowerContext& ctx) {
  Tail tail;
  tail.columns = product.N;
  emit_operands(product, {node.graph, node.output(0), node.input(a), node.input(b)}, tail, ctx);
}

namespace {

Refusal check_product(const NodeView& n) {
  const size_t rank = n.in_dims(1).size();
  const bool gemm = n.op() == "Gemm";
  if (gemm ? rank != 2 || n.out_dims(0).size() != 2 : rank < 1)
    return {OPTIMA_REASON_RANK, "input 1", "rank " + std::to_string(rank), gemm ? "rank 2" : "rank 1 or more"};
  for (uint32_t k = 0; k < 2; ++k)
    if (count(n.in_dims(k)) == 0) return {OPTIMA_REASON_SIZE_LIMIT, "input " + std::to_string(k), to_text(n.in_dims(k)), "not empty"};
  const Product p = product_of(n);
  const Dims b = n.in_dims(1);
  const int64_t rows_of_b = n.op() == "Gemm" ? b[n.integer("transB", 0) ? 1 : 0] : b[b.size() < 2 ? 0 : b.size() - 2];
  for (size_t d = 2; d < std::min(n.in_dims(0).size(), b.size()); ++d)  // batch dims, from the last one
    if (const int64_t x = n.in_dims(0).rbegin()[static_cast<std::ptrdiff_t>(d)], y = b.rbegin()[static_cast<std::ptrdiff_t>(d)]; x != y && x != 1 && y != 1)
      return wrong_shape(n, 1, "broadcastable with " + to_text(n.in_dims(0)));
  if (rows_of_b != p.K) return wrong_shape(n, 1, std::to_string(p.K) + " rows");
  const int64_t results = std::accumulate(p.batch.begin(), p.batch.end(), p.M * p.N, [](int64_t x, const Batch& d) { return x * d.size; });
  if (count(n.out_dims(0)) != results) return wrong_shape(n, 0, std::to_string(results) + " results");
  if (gemm && n.out_dims(0) != Dims{p.M, p.N}) return {OPTIMA_REASON_OTHER, "output 0", to_text(n.out_dims(0)), to_text({p.M, p.N})};
  if (!gemm || !n.has_input(2)) return {};
  if (!broadcasts(n.in_dims(2), n.out_dims(0))) return wrong_shape(n, 2, "broadcastable to the result");
  const bool numbers = n.graph.floats(n.input(2)).has_value();
  const Dims c = n.in_dims(2), out = n.out_dims(0);
  if (n.real("beta", 1) != 1 && !numbers) return {OPTIMA_REASON_ATTRIBUTE, "beta", std::to_string(n.real("beta", 1)), "1 when input 2 is computed"};
  if (count(c) == 1 && out[0] > 1 && out[1] > 1 && !numbers) return {OPTIMA_REASON_CONST_REQUIRED, "input 2", "computed", "constant when it has one element"};
  return {};
}

bool takes_unit(const Unit& u, const Target& t) { return takes_codes_product(u, t) || takes_codes_matmul(u, t) || takes_block_product(u, t); }
void lower_unit(const Unit& u, LowerContext& ctx) {
  if (takes_codes_product(u, ctx.target())) lower_codes_product(u, ctx);
  else if (takes_codes_matmul(u, ctx.target())) lower_codes_matmul(u, ctx);
  else lower_block_product(u, ctx);
}

constexpr Lowering kMatmulFamily[] = {
    {"MatMul", 1, 13, {kFloat}, {kFloat}, 1, 8, 0, {2, 2, kBoth}, check_product, lower_product, false, Tails::Columns, "", takes_unit, lower_unit, nullptr, multiplies_pairs},
    {"Gemm", 7, 13, {kFloat}, {kFloat}, 2, 2, 0, {2, 3, kInputs | out_bit(0)}, check_product, lower_product, false, Tails::Columns, "", takes_unit, lower_unit, nullptr,
     multiplies_pairs},
};

}  // namespace

Family matmul_family() { return kMatmulFamily; }

}  // namespace optima::llvm_cpu
