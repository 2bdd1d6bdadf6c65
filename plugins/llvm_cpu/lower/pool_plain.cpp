// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: see pool_plain.hpp; also LpPool and GlobalLpPool.
#include "plugins/llvm_cpu/lower/parts/pool_plain.hpp"

#include "plugins/llvm_cpu/kernels/pool_plain.hpp"
#include "plugins/llvm_cpu/compiler/work.hpp"
#include "plugins/llvm_cpu/lower/parts/shapes.hpp"
#include "plugins/llvm_cpu/lower/parts/window.hpp"

namespace optima::llvm_cpu {
namespace {

void emit_pool(const NodeView& n, const Window& w, LowerContext& ctx) {
  const bool indices = n.op() == "MaxPool" && n.has_output(1);
  Op op;
  op.kernel = k::PoolPlain{.mode = pool_mode(n), .p = n.integer("p", 2), .has_indices = indices, .in = literal(w.in), .out = literal(w.out),
                           .kernel = literal(w.kernel), .stride = literal(w.stride), .dilation = literal(w.dilation),
                           .begin = literal(w.begin), .end = literal(w.end)};
  op.args = {ctx.read(n.input(0)), ctx.write(n.output(0)), indices ? ctx.write(n.output(1)) : Operand()};
  op.units = w.batch * w.channels * w.out[0] * w.out[1];
  op.work = w.batch * w.channels * w.out_pixels() * w.taps() * work::kPooled;
  op.label = std::string(n.op()) + " " + to_text(n.in_dims(0));
  ctx.emit(std::move(op));
}

void lower_global_lp(std::span<const NodeView> nodes, LowerContext& ctx) {
  const Dims in = nodes[0].in_dims(0);
  Window w;  // of no attributes: the operator has none
  w.batch = in[0], w.channels = w.out_channels = in[1];
  for (size_t d = 2; d < in.size(); ++d) w.in[d + 3 - in.size()] = w.kernel[d + 3 - in.size()] = in[d];
  emit_pool(nodes[0], w, ctx);
}

Refusal check_power(const NodeView& n) {
  const int64_t p = n.integer("p", 2);
  return p >= 1 ? Refusal() : Refusal{OPTIMA_REASON_ATTRIBUTE, "p", std::to_string(p), "at least 1"};
}
Refusal check_lp_pool(const NodeView& n) {
  if (const Refusal r = check_power(n)) return r;
  return Window::check(n, n.integers("kernel_shape"), n.in_dims(0)[1]);
}
Refusal check_global_lp(const NodeView& n) {
  if (const Refusal r = check_power(n)) return r;
  return check_global_pool(n);
}

constexpr Lowering kPoolPlainFamily[] = {
    {"LpPool", 2, 22, {kFloat}, {kFloat}, 3, 5, 0, {}, check_lp_pool, lower_plain_pool},
    {"GlobalLpPool", 2, 22, {kFloat}, {kFloat}, 3, 5, 0, {}, check_global_lp, lower_global_lp},
};

}  // namespace

k::PoolMode pool_mode(const NodeView& n) {
  if (n.op() == "MaxPool" || n.op() == "GlobalMaxPool") return k::PoolMode::Max;
  if (n.op() == "LpPool" || n.op() == "GlobalLpPool") return k::PoolMode::Lp;
  return n.integer("count_include_pad", 0) ? k::PoolMode::AverageWithPad : k::PoolMode::Average;
}

bool needs_plain_pool(const NodeView& n) {
  if (n.op() == "MaxPool") return n.has_output(1);
  return n.integer("ceil_mode", 0) && n.integer("count_include_pad", 0);
}

void lower_plain_pool(std::span<const NodeView> nodes, LowerContext& ctx) {
  emit_pool(nodes[0], Window::of(nodes[0], nodes[0].integers("kernel_shape")), ctx);
}

Refusal check_global_pool(const NodeView& n) {
  const Dims in = n.in_dims(0);
  if (count(in) == 0) return {OPTIMA_REASON_SIZE_LIMIT, "input 0", to_text(in), "not empty"};
  Dims wanted(in.size(), 1);
  wanted[0] = in[0], wanted[1] = in[1];
  return n.out_dims(0) == wanted ? Refusal() : Refusal{OPTIMA_REASON_OTHER, "output 0", to_text(n.out_dims(0)), to_text(wanted)};
}

Family pool_plain_family() { return kPoolPlainFamily; }

}  // namespace optima::llvm_cpu
