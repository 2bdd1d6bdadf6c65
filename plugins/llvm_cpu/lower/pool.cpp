// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: pooling of blocked activations.
#include "plugins/llvm_cpu/lower/conv_parts.hpp"
#include "plugins/llvm_cpu/lower/families.hpp"
#include "plugins/llvm_cpu/lower/pool_plain.hpp"
#include "plugins/llvm_cpu/lower/window.hpp"

namespace optima::llvm_cpu {
namespace {

int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

enum Mode : int64_t { kMax = 0, kAverage = 1, kAverageWithPadding = 2 };

Mode mode_of(const NodeView& n) {
  if (n.op() == "MaxPool" || n.op() == "GlobalMaxPool") return kMax;
  return n.integer("count_include_pad", 0) ? kAverageWithPadding : kAverage;
}

void lower_pool(std::span<const NodeView> nodes, LowerContext& ctx) {
  const NodeView& n = nodes[0];
  if (needs_plain_pool(n)) return lower_plain_pool(nodes, ctx);
  const Window w = Window::of(n, n.integers("kernel_shape"));
  const int64_t vl = ctx.target().vector_width, blocks = divide_up(w.channels, vl);
  Op op;
  op.kernel = {"k_pool", {int64_t{mode_of(n)}, w.in[0], w.in[1], w.in[2], w.out[0], w.out[1], w.out[2], w.kernel[0], w.kernel[1],
                          w.kernel[2], w.stride[0], w.stride[1], w.stride[2], w.dilation[0], w.dilation[1], w.dilation[2],
                          w.begin[0], w.begin[1], w.begin[2], blocks, w.batch == 1 ? 0 : blocks * vl * w.out_pixels()}};
  op.args = {ctx.read(n.input(0), Layout::Blocked), ctx.write(n.output(0), Layout::Blocked)};
  op.units = w.batch * blocks * w.out[0] * w.out[1];
  op.work = w.batch * blocks * vl * w.out_pixels() * w.taps();
  op.label = (n.op() == "MaxPool" ? "max pool " : "average pool ") + describe(w);
  ctx.emit(std::move(op));
}

void lower_global(std::span<const NodeView> nodes, LowerContext& ctx) {
  const NodeView& n = nodes[0];
  const Dims in = n.in_dims(0);
  const int64_t vl = ctx.target().vector_width, pixels = count(in) / std::max<int64_t>(1, in[0] * in[1]);
  Op op;
  op.kernel = {"k_global_pool", {int64_t{mode_of(n)}, pixels}};
  op.args = {ctx.read(n.input(0), Layout::Blocked), ctx.write(n.output(0), Layout::Blocked)};
  op.units = in[0] * divide_up(in[1], vl);
  op.work = elements(in, Layout::Blocked, ctx.target());
  op.label = n.op() == "GlobalMaxPool" ? "global max pool" : "global average pool";
  ctx.emit(std::move(op));
}

Refusal check_pool(const NodeView& n) {
  if (n.has_output(1) && n.integer("storage_order", 0)) return {OPTIMA_REASON_ATTRIBUTE, "storage_order", "1", "0"};
  if (n.has_output(1) && n.out_dims(1) != n.out_dims(0)) return {OPTIMA_REASON_OTHER, "output 1", to_text(n.out_dims(1)), to_text(n.out_dims(0)) + " as output 0"};
  return Window::check(n, n.integers("kernel_shape"), n.in_dims(0)[1]);
}

constexpr Lowering kRows[] = {
    {"MaxPool", 1, 22, {kFloat}, {kFloat, types(OPTIMA_I64)}, 3, 5, 0, check_pool, lower_pool},
    {"AveragePool", 1, 22, {kFloat}, {kFloat}, 3, 5, 0, check_pool, lower_pool},
    {"GlobalAveragePool", 1, 22, {kFloat}, {kFloat}, 3, 5, 0, check_global_pool, lower_global},
    {"GlobalMaxPool", 1, 22, {kFloat}, {kFloat}, 3, 5, 0, check_global_pool, lower_global},
};

}  // namespace

Family pool_family() { return kRows; }

}  // namespace optima::llvm_cpu
