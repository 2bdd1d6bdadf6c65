// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: see computed.hpp.
#include "plugins/llvm_cpu/lower/parts/computed.hpp"

#include "plugins/llvm_cpu/compiler/work.hpp"
#include "plugins/llvm_cpu/kernels/weights.hpp"
#include "plugins/llvm_cpu/lower/parts/shapes.hpp"
#include "plugins/llvm_cpu/plan/pack.hpp"

namespace optima::llvm_cpu {

Operand packed_in_run(LowerContext& ctx, uint32_t value, const Pack& p) {
  if (p.kind == Pack::Dense && p.ic == 0) return LowerContext::null();  // a phase without taps reads none
  const bool dense = p.kind == Pack::Dense;  // the other one is that of blocks of one output each, and one input
  const int64_t blocks = dense ? p.oc_blocks : 1, in_block = dense ? p.in_block : 1, inputs = dense ? p.ic : 1;
  Op op;
  op.kernel = k::Weights{.OCB = blocks, .IB = in_block, .G = p.groups, .D = dense ? p.diagonal : 1, .OC = p.oc, .IC = inputs, .KD = dense ? p.kd : 1, .KH = p.kh, .KW = p.kw,
                         .offset = p.offset, .group = p.group_stride, .diagonal = p.diagonal_stride, .oc = p.oc_stride, .ic = p.ic_stride, .kd = p.kd_stride, .kh = p.kh_stride, .kw = p.kw_stride};
  const uint64_t bytes = packed_bytes(p, 0);
  Operand to = ctx.temporary(bytes);
  to.written = true;
  op.args = {ctx.read(value), to};
  op.units = p.groups * divide_up(divide_up(p.oc, p.vector_width), blocks) * divide_up(inputs, in_block);
  op.work = static_cast<int64_t>(bytes / sizeof(float)) * work::kMoved;
  op.label = "pack computed weights";
  ctx.emit(std::move(op));
  to.written = false;
  return to;
}

}  // namespace optima::llvm_cpu
