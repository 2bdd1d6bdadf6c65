// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: pooling of blocked activations.
#include "plugins/llvm_cpu/compiler/work.hpp"
#include "plugins/llvm_cpu/lower/parts/conv_parts.hpp"
#include "plugins/llvm_cpu/lower/parts/pool_codes.hpp"
#include "plugins/llvm_cpu/lower/parts/pool_plain.hpp"
#include "plugins/llvm_cpu/lower/parts/shapes.hpp"
#include "plugins/llvm_cpu/lower/parts/window.hpp"

namespace optima::llvm_cpu {
namespace {

void lower_pool(std::span<const NodeView> nodes, LowerContext& ctx) {
  const NodeView& n = nodes[0];
  if (needs_plain_pool(n)) return lower_plain_pool(nodes, ctx);
  const Window w = Window::of(n, n.integers("kernel_shape")).with_long_rows();
  const int64_t vl = ctx.target().vector_width, blocks = divide_up(w.channels, vl);
  Op op;
  op.kernel = k::Pool{.mode = pool_mode(n), .in = literal(w.in), .out = literal(w.out), .kernel = literal(w.kernel), .stride = literal(w.stride),
                      .dilation = literal(w.dilation), .begin = literal(w.begin), .blocks = blocks,
                      .out_image = w.batch == 1 ? 0 : blocks * vl * w.out_pixels()};
  op.args = {ctx.read(n.input(0), Layout::Blocked), ctx.write(n.output(0), Layout::Blocked)};
  op.units = w.batch * blocks * w.out[0] * w.out[1];
  op.work = w.batch * blocks * vl * w.out_pixels() * w.taps() * work::kPooled;
  op.label = (n.op() == "MaxPool" ? "max pool " : "average pool ") + describe(w);
  ctx.emit(std::move(op));
}

void lower_global(std::span<const NodeView> nodes, LowerContext& ctx) {
  const NodeView& n = nodes[0];
  const Dims in = n.in_dims(0);
  const int64_t vl = ctx.target().vector_width, pixels = count(in) / std::max<int64_t>(1, in[0] * in[1]);
  Op op;
  op.kernel = k::GlobalPool{.mode = pool_mode(n), .P = pixels};
  op.args = {ctx.read(n.input(0), Layout::Blocked), ctx.write(n.output(0), Layout::Blocked)};
  op.units = in[0] * divide_up(in[1], vl);
  op.work = elements(in, Layout::Blocked, ctx.target()) * work::kPooled;
  op.label = n.op() == "GlobalMaxPool" ? "global max pool" : "global average pool";
  ctx.emit(std::move(op));
}

Refusal check_pool(const NodeView& n) {
  if (n.has_output(1) && n.integer("storage_order", 0)) return {OPTIMA_REASON_ATTRIBUTE, "storage_order", "1", "0"};
  if (n.has_output(1) && n.out_dims(1) != n.out_dims(0)) return {OPTIMA_REASON_OTHER, "output 1", to_text(n.out_dims(1)), to_text(n.out_dims(0)) + " as output 0"};
  return Window::check(n, n.integers("kernel_shape"), n.in_dims(0)[1]);
}

constexpr Lowering kPoolFamily[] = {
    {"MaxPool", 1, 22, {kFloat}, {kFloat, types(OPTIMA_I64)}, 3, 5, 0, {1, 1, kThrough, 2}, check_pool, lower_pool,
     false, Tails::None, "", takes_pool_codes, lower_pool_codes},
    {"MaxPool", 12, 22, {types(OPTIMA_U8, OPTIMA_I8)}, {types(OPTIMA_U8, OPTIMA_I8)}, 3, 5, 0, {1, 1, kThrough, 2}, check_max_of_bytes, lower_max_of_bytes},
    {"AveragePool", 1, 22, {kFloat}, {kFloat}, 3, 5, 0, {}, check_pool, lower_pool, false, Tails::None, "", takes_pool_codes, lower_pool_codes},
    {"GlobalAveragePool", 1, 22, {kFloat}, {kFloat}, 3, 5, 0, {}, check_global_pool, lower_global,
     false, Tails::None, "", takes_pool_codes, lower_pool_codes},
    {"GlobalMaxPool", 1, 22, {kFloat}, {kFloat}, 3, 5, 0, {}, check_global_pool, lower_global,
     false, Tails::None, "", takes_pool_codes, lower_pool_codes},
};

}  // namespace

Family pool_family() { return kPoolFamily; }

}  // namespace optima::llvm_cpu
