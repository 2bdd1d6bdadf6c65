// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: see pairs.hpp.
#include "plugins/llvm_cpu/lower/parts/pairs.hpp"

#include <algorithm>

#include "plugins/llvm_cpu/lower/parts/shapes.hpp"
#include "plugins/llvm_cpu/lower/parts/window.hpp"

namespace optima::llvm_cpu {

bool are_pairs(const NodeView& n, const Target& t) {
  if (t.bf16 == Bf16::None || !n.has_input(0) || !n.has_input(1)) return false;
  const GraphView& g = n.graph;
  return g.stored_dtype(n.input(0)) == OPTIMA_BF16 && g.stored_dtype(n.input(1)) == OPTIMA_BF16 && g.is_constant(n.input(1)) && !g.is_constant(n.input(0));
}

Pack pairs_pack(int64_t oc, int64_t ic, int64_t oc_stride, int64_t ic_stride, int64_t kh, int64_t kw) {
  Pack p;
  p.kind = Pack::Pairs, p.vector_width = 16, p.oc_blocks = kPairBlocks;
  p.oc = oc, p.ic = ic, p.kh = kh, p.kw = kw;
  p.oc_stride = oc_stride, p.ic_stride = ic_stride, p.kh_stride = kw, p.kw_stride = 1;
  return p;
}

Op pairs_op(k::Pairs s, std::array<Operand, 6> args, const Target& t) {
  constexpr int64_t kRows = 128;  // of a unit: a share of the input that stays in L2 beside a panel of weights
  s.tiles = t.bf16 == Bf16::Tiles, s.OCB = kPairBlocks;
  s.row_block = s.lines > 1 ? s.rows : std::min(s.rows, kRows);
  s.line_block = std::clamp<int64_t>(kRows / s.rows, 1, s.lines);
  s.bias = args[2].kind != Operand::Null, s.before = args[3].kind != Operand::Null, s.after = args[4].kind != Operand::Null;
  Op op;
  op.kernel = s;
  op.args.assign(args.begin(), args.end());
  op.units = divide_up(divide_up(s.N, 16), s.OCB) * s.images * divide_up(s.lines, s.line_block) * std::max<int64_t>(1, s.rows / s.row_block);
  op.scratch_per_thread = k::kPairsScratch;
  op.work = s.images * s.lines * s.rows * s.N * s.KH * s.KW * s.IC / (s.tiles ? 8 : 2);
  return op;
}

}  // namespace optima::llvm_cpu
