// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: see pool_plain.hpp; also LpPool and GlobalLpPool.
#include "plugins/llvm_cpu/lower/pool_plain.hpp"

#include "plugins/llvm_cpu/lower/families.hpp"
#include "plugins/llvm_cpu/lower/shapes.hpp"
#include "plugins/llvm_cpu/lower/window.hpp"

namespace optima::llvm_cpu {
namespace {

enum Mode : int64_t { kMax, kAverage, kAverageWithPad, kLp };  // as kernels/pool_plain.cpp numbers them

Mode mode_of(const NodeView& n) {
  if (n.op() == "MaxPool") return kMax;
  if (n.op() == "AveragePool") return n.integer("count_include_pad", 0) ? kAverageWithPad : kAverage;
  return kLp;
}

void emit_pool(const NodeView& n, const Window& w, LowerContext& ctx) {
  const bool indices = n.op() == "MaxPool" && n.has_output(1);
  Op op;
  op.kernel = {"k_pool_plain", {int64_t{mode_of(n)}, n.integer("p", 2), int64_t{indices}}};
  for (const Three* t : {&w.in, &w.out, &w.kernel, &w.stride, &w.dilation, &w.begin, &w.end})
    op.kernel.literals.insert(op.kernel.literals.end(), t->begin(), t->end());
  op.args = {ctx.read(n.input(0)), ctx.write(n.output(0)), indices ? ctx.write(n.output(1)) : Operand()};
  op.units = w.batch * w.channels * w.out[0] * w.out[1];
  op.work = w.batch * w.channels * w.out_pixels() * w.taps();
  op.label = std::string(n.op()) + " " + to_text(n.in_dims(0));
  ctx.emit(std::move(op));
}

void lower_global_lp(std::span<const NodeView> nodes, LowerContext& ctx) {
  const Dims in = nodes[0].in_dims(0);
  emit_pool(nodes[0], Window::of(nodes[0], Dims(in.begin() + 2, in.end())), ctx);
}

constexpr Lowering kRows[] = {
    {"LpPool", 2, 22, {kFloat}, {kFloat}, 3, 5, 0, nullptr, lower_plain_pool},
    {"GlobalLpPool", 2, 22, {kFloat}, {kFloat}, 3, 5, 0, nullptr, lower_global_lp},
};

}  // namespace

bool needs_plain_pool(const NodeView& n) {
  if (n.op() == "MaxPool") return n.has_output(1);
  return n.integer("ceil_mode", 0) && n.integer("count_include_pad", 0);
}

void lower_plain_pool(std::span<const NodeView> nodes, LowerContext& ctx) {
  emit_pool(nodes[0], Window::of(nodes[0], nodes[0].integers("kernel_shape")), ctx);
}

Family plain_pool_family() { return kRows; }

}  // namespace optima::llvm_cpu
