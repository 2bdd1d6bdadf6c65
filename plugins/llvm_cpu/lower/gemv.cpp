// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: Gemm with one row and constant weights: memory speed is what counts.
#include "plugins/llvm_cpu/compiler/tail.hpp"
#include "plugins/llvm_cpu/lower/conv_parts.hpp"
#include "plugins/llvm_cpu/lower/families.hpp"

namespace optima::llvm_cpu {
namespace {

int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

void lower_gemv(std::span<const NodeView> nodes, LowerContext& ctx) {
  const NodeView& n = nodes[0];
  const FusedTail tail = tail_of(nodes);
  const int64_t K = n.in_dims(0)[1], N = n.out_dims(0)[1], vl = ctx.target().vector_width, oc_blocks = std::min<int64_t>(8, divide_up(N, vl));
  const bool transposed = n.integer("transB", 0) != 0;
  Pack p;
  p.kind = Pack::Dense, p.vector_width = vl, p.oc_blocks = oc_blocks, p.in_block = vl, p.oc = N, p.ic = K;
  p.oc_stride = transposed ? K : 1, p.ic_stride = transposed ? 1 : N;
  Op op;
  op.kernel = {"k_gemv", {oc_blocks, int64_t{8192}, tail.flags() | (n.has_input(2) ? int64_t{k::kBias} : 0), tail.act, tail.lo, tail.hi, K, N}};
  const Operand bias = n.has_input(2) ? ctx.bytes(to_bytes(*n.graph.floats(n.input(2))), bias_pack({1, 1, 1, N}, vl)) : LowerContext::null();
  const Operand residual = tail.residual == OPTIMA_NONE ? LowerContext::null() : ctx.read(tail.residual, Layout::Plain);
  op.args = {ctx.read(n.input(0), Layout::Plain), ctx.packed(n.input(1), p), bias, ctx.write(nodes.back().output(0), Layout::Plain), residual};
  op.units = divide_up(divide_up(N, vl), oc_blocks);
  op.work = K * N;
  op.label = "gemv " + std::to_string(K) + "->" + std::to_string(N);
  ctx.emit(std::move(op));
}

Refusal check_gemv(const NodeView& n) {
  if (n.in_dims(0)[0] != 1) return {OPTIMA_REASON_SIZE_LIMIT, "input 0 dim 0", std::to_string(n.in_dims(0)[0]), "1"};
  if (n.integer("transA", 0)) return {OPTIMA_REASON_ATTRIBUTE, "transA", "1", "0"};
  if (n.real("alpha", 1) != 1.f || n.real("beta", 1) != 1.f) return {OPTIMA_REASON_ATTRIBUTE, "alpha or beta", "not 1", "1"};
  if (n.has_input(2) && count(n.in_dims(2)) != n.out_dims(0)[1]) return {OPTIMA_REASON_OTHER, "input 2", to_text(n.in_dims(2)), "one value per column"};
  return {};
}

constexpr Lowering kRows[] = {
    {"Gemm", 7, 13, {kFloat}, {kFloat}, 2, 2, 0b110, check_gemv, lower_gemv, false, true},
};

}  // namespace

Family gemv_family() { return kRows; }

}  // namespace optima::llvm_cpu
