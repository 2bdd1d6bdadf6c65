// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: activations that found nothing to be fused with; they keep the layout they meet.
#include "plugins/llvm_cpu/compiler/tail.hpp"
#include "plugins/llvm_cpu/lower/families.hpp"

namespace optima::llvm_cpu {
namespace {

FusedTail activation_of(const NodeView& n) {
  FusedTail tail;
  tail.take({&n, 1}, n.input(0), false);
  return tail;
}

void lower_activation(std::span<const NodeView> nodes, LowerContext& ctx) {
  const NodeView& n = nodes[0];
  const FusedTail tail = activation_of(n);
  const Layout layout = ctx.layout(n.input(0));
  const int64_t size = elements(n.in_dims(0), layout, ctx.target());
  Op op;
  op.kernel = {"k_activate", {tail.act, tail.lo, tail.hi, size}};
  op.args = {ctx.read(n.input(0), layout), ctx.write(n.output(0), layout)};
  op.units = (size + 4095) / 4096;
  op.work = size * 4;
  ctx.emit(std::move(op));
}

Refusal check_activation(const NodeView& n) {
  if (activation_of(n).act == k::kNone) return {OPTIMA_REASON_CONST_REQUIRED, "bounds", "computed", "constant"};
  return {};
}

constexpr Lowering kRows[] = {
    {"Relu", 1, 22, {kFloat}, {kFloat}, 0, 8, 0, check_activation, lower_activation},
    {"LeakyRelu", 1, 22, {kFloat}, {kFloat}, 0, 8, 0, check_activation, lower_activation},
    {"Sigmoid", 1, 22, {kFloat}, {kFloat}, 0, 8, 0, check_activation, lower_activation},
    {"Tanh", 1, 22, {kFloat}, {kFloat}, 0, 8, 0, check_activation, lower_activation},
    {"HardSigmoid", 1, 22, {kFloat}, {kFloat}, 0, 8, 0, check_activation, lower_activation},
    {"HardSwish", 1, 22, {kFloat}, {kFloat}, 0, 8, 0, check_activation, lower_activation},
    {"Clip", 6, 22, {kFloat}, {kFloat}, 0, 8, 0b110, check_activation, lower_activation},
};

}  // namespace

Family activation_family() { return kRows; }

}  // namespace optima::llvm_cpu
