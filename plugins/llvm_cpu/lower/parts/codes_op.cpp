// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: see codes_op.hpp.
#include "plugins/llvm_cpu/lower/parts/codes_op.hpp"

#include "plugins/llvm_cpu/compiler/tiles.hpp"
#include "plugins/llvm_cpu/kernels/codes_amx.hpp"
#include "plugins/llvm_cpu/lower/parts/copy.hpp"
#include "plugins/llvm_cpu/lower/parts/shapes.hpp"

namespace optima::llvm_cpu {
namespace {

constexpr int64_t kManyWeights = 1 << 19;  // more than the second cache holds beside the pixels: they are fetched ahead

Op amx_op(const k::CodesConv& l, int64_t rows, Pack& pack, bool streams, const Target& t) {
  const int64_t tiles = l.N * l.out.d * l.out.h * divide_up(l.out.w, rows), nb = divide_up(l.OC, t.vector_width);
  const k::CodesAmx s{.tail = l.tail, .by_tiles = tiles >= 48, .OC = l.OC, .float_bias = l.float_bias, .quads = divide_up(l.quads, 16) * 16, .runs = l.runs,
                      .run_step = l.run_step, .N = l.N, .out = l.out, .rows = rows, .in_image = l.in_image, .in_step = l.in_step, .out_pixel = l.out_pixel,
                      .fetch = streams && tiles <= 32 ? divide_up(16 * k::kAmxBlocks, divide_up(tiles, 2)) : 0};
  pack.oc_blocks = k::kAmxBlocks, pack.tile = 16;
  Op op;
  op.kernel = s;
  op.units = s.by_tiles ? tiles : divide_up(nb, k::kAmxBlocks);
  op.grain = s.by_tiles ? 2 : 1;
  op.scratch_per_thread = k::kAmxScratch;
  return op;
}

Op dot_op(const k::CodesConv& l, Pack& pack, bool streams, LowerContext& ctx) {
  const Target& t = ctx.target();
  const int64_t rows = l.N * l.out.d * l.out.h, nb = divide_up(l.OC, t.vector_width);
  const auto spec = [&](Tile tile) {
    k::CodesConv s = l;
    s.OCB = tile.oc_blocks, s.WT = tile.width, s.fetch = streams;
    s.by_tiles = rows * divide_up(l.out.w, tile.width) >= 48;
    return s;
  };
  const Tile tile = choose_codes_tile(t, {nb, l.out.w, rows}, [&](Tile x) { return ctx.is_bad(spec(x)); }, l.adds_sums != 0);
  pack.oc_blocks = tile.oc_blocks, pack.tile = 1;
  const k::CodesConv s = spec(tile);
  Op op;
  op.kernel = s;
  op.units = s.by_tiles ? rows * divide_up(s.out.w, s.WT) : s.G * divide_up(nb, s.OCB);
  return op;
}

}  // namespace

int64_t amx_rows(const Target& t, int64_t groups, int64_t row) {
  const int64_t rows = divide_up(row, divide_up(row, 16));
  return t.amx && groups == 1 && rows >= 4 ? rows : 0;
}

Op codes_op(k::CodesConv l, Pack& pack, int64_t weights, LowerContext& ctx) {
  const Target& t = ctx.target();
  const bool streams = weights > kManyWeights;
  l.dot = t.dot;
  pack.kind = t.dot == k::Dot::Pairs ? Pack::CodePairs : Pack::Codes, pack.vector_width = t.vector_width;
  const int64_t rows = amx_rows(t, l.G, l.out.w);
  return rows ? amx_op(l, rows, pack, streams, t) : dot_op(l, pack, streams, ctx);
}

int64_t codes_row(const Target& t, int64_t M, int64_t K) {
  const int64_t unit = amx_rows(t, 1, M) ? 64 : 4;
  return divide_up(K, unit) * unit;
}

Operand rows_of_codes(const Operand& in, int64_t rows, int64_t size, int64_t padded, bool flip, LowerContext& ctx) {
  if (!flip && padded == size) return in;
  Operand out = ctx.temporary(static_cast<uint64_t>(rows * padded)), to = out;
  to.written = true;
  Op op;
  op.kernel = k::CodesRows{.size = size, .padded = padded, .flip = flip ? 0x80 : 0};
  op.args = {in, to}, op.units = rows, op.work = rows * padded / 16, op.label = "rows of codes";
  ctx.emit(std::move(op));
  return out;
}

Operand transposed_codes(const Operand& in, int64_t M, int64_t K, LowerContext& ctx) {
  Operand out = ctx.temporary(static_cast<uint64_t>(M * K)), to = out;
  to.written = true;
  emit_copy({{M, K}, {1, M}, {K, 1}}, 1, in, to, "transposed codes", ctx);
  return out;
}

}  // namespace optima::llvm_cpu
