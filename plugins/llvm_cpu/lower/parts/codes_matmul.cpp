// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: see codes_matmul.hpp.
#include "plugins/llvm_cpu/lower/parts/codes_matmul.hpp"

#include <algorithm>

#include "plugins/llvm_cpu/compiler/tiles.hpp"
#include "plugins/llvm_cpu/kernels/codes_matmul.hpp"
#include "plugins/llvm_cpu/kernels/codes_matmul_amx.hpp"
#include "plugins/llvm_cpu/lower/parts/codes_op.hpp"
#include "plugins/llvm_cpu/lower/parts/matrix_product.hpp"
#include "plugins/llvm_cpu/lower/parts/shapes.hpp"

namespace optima::llvm_cpu {
namespace {

using Product = MatrixProduct;
using Batch = Product::Batch;

constexpr int64_t kMostK = 8192;    // sums of so many products, and what zero points add to them, stay within 2^30
constexpr int64_t kUnitRows = 256;  // at least, where there are as many: every unit packs its columns of B again
constexpr int64_t kLeastAmxK = 64;  // shorter rows would be copied to be that long

Product matrices_of(const Unit& u) {
  const GraphView& g = u.op.graph;
  return u.op.op() == "Gemm" ? product_of(u.op) : Product::of(g.dims(stored_value(u.inputs[0])), g.dims(stored_value(u.inputs[1])));
}

/// Gemm's C as a step of the tail.
Unit with_addend(const Unit& u) {
  Unit out = u;
  if (u.op.op() == "Gemm" && u.inputs.size() > 2 && u.inputs[2]) out.tail.insert(out.tail.begin(), UnitStep{UnitStep::Add, {}, u.inputs[2], {}});
  return out;
}

bool by_amx(const Product& p, const Target& t) { return p.K >= kLeastAmxK && amx_rows(t, 1, p.M) > 0; }

/// Rows of A one after the other, as the kernel multiplies them, `row` bytes apart.
Operand rows_of_a(const Unit& u, const Product& p, int64_t row, LowerContext& ctx) {
  const uint32_t value = u.inputs[0].codes->value;
  const int64_t rows = count(u.op.graph.dims(value)) / p.K;
  const bool turned = p.M > 1 && p.K > 1 && p.sam == 1 && p.sak == p.M;
  const Operand in = turned ? transposed_codes(ctx.read(value), p.M, p.K, ctx) : ctx.read(value);
  return rows_of_codes(in, rows, p.K, row, flips(u.inputs[0].codes->dtype, ctx.target()), ctx);
}

/// What B's zero point adds for each row of A; null where it is 0.
Operand row_terms(const Operand& a, const Operand& zeros, int64_t rows, const Codes& ac, const Codes& bc, const Product& p, int64_t row, LowerContext& ctx) {
  if (bc.zero[0] == 0) return LowerContext::null();
  Operand out = ctx.temporary(static_cast<uint64_t>(rows) * sizeof(int32_t)), to = out;
  to.written = true;
  Op op;
  op.kernel = k::CodesSums{.is_signed = ac.dtype == OPTIMA_I8, .K = p.K, .step = row};
  op.args = {a, zeros, to}, op.units = rows, op.work = rows * p.K / 16, op.label = "sums of rows of codes";
  ctx.emit(std::move(op));
  return out;
}

/// B is signed on every target.
Codes as_signed(Codes codes) {
  if (codes.dtype == OPTIMA_U8) codes.dtype = OPTIMA_I8, codes.zero[0] -= 128;
  return codes;
}

/// Rows of a unit: a multiple of those of a tile.
int64_t unit_rows(int64_t M, int64_t tile) { return std::min(divide_up(M, tile), std::max<int64_t>(1, kUnitRows / tile)) * tile; }

/// Two batch dims, outermost first.
std::array<Batch, 2> batches_of(const Product& p) {
  std::vector<Batch> two = p.batch;
  while (two.size() < 2) two.insert(two.begin(), {1, 0, 0, 0});
  return {two[0], two[1]};
}

/// The kernel, its units and its scratch. dots: all but the tile.
Op step_of(k::CodesMatmul dots, int64_t batches, LowerContext& ctx) {
  const Target& t = ctx.target();
  const int64_t nb = divide_up(dots.N, t.vector_width), quad = t.dot == k::Dot::Pairs ? 8 : 4;
  const auto spec = [&](Tile tile) {
    k::CodesMatmul s = dots;
    s.OCB = tile.oc_blocks, s.WT = tile.width, s.mb = unit_rows(s.M, tile.width);
    return s;
  };
  const Tile tile = choose_codes_tile(t, {nb, dots.M, 1}, [&](Tile x) { return ctx.is_bad(spec(x)); });
  const k::CodesMatmul s = spec(tile);
  Op op;
  op.kernel = s;
  op.units = batches * divide_up(s.M, s.mb) * divide_up(nb, s.OCB);
  op.scratch_per_thread = static_cast<uint64_t>(s.OCB * t.vector_width * (4 + s.quads * quad));
  return op;
}

Op amx_step_of(const k::CodesMatmul& d, int64_t batches, const Target& t) {
  const int64_t rows = amx_rows(t, 1, d.M), nb = divide_up(d.N, t.vector_width);
  const k::CodesMatmulAmx s{.mb = unit_rows(d.M, rows), .tail = d.tail, .has_rows = d.has_rows, .rows = rows, .M = d.M, .N = d.N, .quads = d.quads, .b = d.b,
                            .b1 = d.b1, .ra0 = d.ra0, .ra1 = d.ra1, .sb0 = d.sb0, .sb1 = d.sb1};
  Op op;
  op.kernel = s;
  op.units = batches * divide_up(s.M, s.mb) * divide_up(nb, k::kAmxBlocks);
  op.scratch_per_thread = static_cast<uint64_t>(k::kAmxScratch + k::kAmxBlocks * t.vector_width * (4 + s.quads * 4));
  return op;
}

}  // namespace

bool takes_codes_matmul(const Unit& u, const Target&) {
  const GraphView& g = u.op.graph;
  if (!is_simple(u.inputs[0].codes) || !is_simple(u.inputs[1].codes) || u.inputs[1].transposed || g.is_constant(u.inputs[1].codes->value)) return false;
  const Dims a = g.dims(u.inputs[0].codes->value), b = g.dims(u.inputs[1].codes->value), out = g.dims(u.out);
  if (a.size() < 2 || b.size() < 2 || out.size() != std::max(a.size(), b.size()) || count(out) == 0) return false;
  if (u.op.op() == "Gemm" && u.op.has_input(2) && u.op.real("beta", 1) != 1) return false;
  const Product p = matrices_of(u);
  return p.K <= kMostK && p.batch.size() <= 2 && takes_tail(with_addend(u), Layout::Plain);
}

void lower_codes_matmul(const Unit& given, LowerContext& ctx) {
  const Unit u = with_addend(given);
  const Target& t = ctx.target();
  const Product p = matrices_of(u);
  const Codes a = as_last(*u.inputs[0].codes, t), b = as_signed(*u.inputs[1].codes);
  const int64_t unit = by_amx(p, t) ? 64 : 4, row = divide_up(p.K, unit) * unit;
  const auto [outer, inner] = batches_of(p);
  const Operand in = rows_of_a(u, p, row, ctx), zeros = ctx.bytes(raw_bytes(std::vector<int32_t>{a.zero[0], b.zero[0]}));
  const Operand terms = row_terms(in, zeros, count(u.op.graph.dims(a.value)) / p.K, a, b, p, row, ctx);
  const CodesEnd end = lower_tail(u, Layout::Plain, ctx);
  const float scale = a.scale[0] * b.scale[0] * p.alpha / end.divisor;
  k::CodesMatmul l{.dot = t.dot, .OCB = 0, .WT = 0, .mb = 0, .tail = end.literals, .has_rows = terms.kind != Operand::Null, .M = p.M, .N = p.N, .quads = row / 4,
                   .b = {.K = p.K, .sbk = p.sbk, .sbn = p.sbn, .flip = u.inputs[1].codes->dtype == OPTIMA_U8 ? 0x80 : 0},
                   .b1 = inner.size, .ra0 = outer.a / p.K, .ra1 = inner.a / p.K, .sb0 = outer.b, .sb1 = inner.b};
  l.tail.natural = end.natural && std::abs(static_cast<double>(scale)) * static_cast<double>(kMostK) * 0x1p16 < 0x1p30;  // one kernel for all K
  const int64_t batches = outer.size * inner.size;
  Op op = by_amx(p, t) ? amx_step_of(l, batches, t) : step_of(l, batches, ctx);
  op.args = {in, ctx.read(u.inputs[1].codes->value), zeros, ctx.bytes(raw_bytes(std::vector<float>{scale})), terms, ctx.bytes(raw_bytes(end.numbers)), ctx.write(u.out)};
  op.args.insert(op.args.end(), end.operands.begin(), end.operands.end());
  op.work = batches * p.M * p.N * p.K / 4;
  op.label = "matmul int8 " + std::to_string(p.M) + "x" + std::to_string(p.K) + "x" + std::to_string(p.N) + (batches > 1 ? " *" + std::to_string(batches) : "");
  ctx.emit(std::move(op));
}

}  // namespace optima::llvm_cpu
