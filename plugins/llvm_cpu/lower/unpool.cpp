// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: MaxUnpool into the shape that indices count in. A larger one is the reference's.
#include "plugins/llvm_cpu/compiler/work.hpp"
#include "plugins/llvm_cpu/kernels/unpool.hpp"
#include "plugins/llvm_cpu/lower/parts/shapes.hpp"
#include "plugins/llvm_cpu/lower/parts/window.hpp"

namespace optima::llvm_cpu {
namespace {

Refusal check_unpool(const NodeView& n) {
  const Dims x = n.in_dims(0), kernel = n.integers("kernel_shape");
  const size_t rank = x.size() - 2;
  const Dims strides = list_of(n, "strides", rank, 1), pads = list_of(n, "pads", 2 * rank, 0);
  if (const Refusal r = check_list("kernel_shape", kernel, rank, 1)) return r;
  if (const Refusal r = check_list("strides", strides, rank, 1)) return r;
  if (const Refusal r = check_list("pads", pads, 2 * rank, 0)) return r;
  if (n.in_dims(1) != x) return wrong_shape(n, 1, to_text(x));
  Dims plain{x[0], x[1]};
  for (size_t d = 0; d < rank; ++d) plain.push_back((x[d + 2] - 1) * strides[d] + kernel[d] - pads[d] - pads[d + rank]);
  if (n.out_dims(0) != plain) return {OPTIMA_REASON_OTHER, "output 0", to_text(n.out_dims(0)), to_text(plain)};
  return {};
}

void lower_unpool(std::span<const NodeView> nodes, LowerContext& ctx) {
  const NodeView& n = nodes[0];
  const int64_t elements = count(n.in_dims(0)), outputs = count(n.out_dims(0));
  Op op;
  op.kernel = k::MaxUnpool{.elements = elements, .outputs = outputs};
  op.args = {ctx.read(n.input(0)), ctx.read(n.input(1)), ctx.write(n.output(0))};
  op.units = 1;
  op.work = (elements + outputs) * work::kMoved;
  op.label = "max unpool " + to_text(n.out_dims(0));
  ctx.emit(std::move(op));
}

constexpr Lowering kUnpoolFamily[] = {
    {"MaxUnpool", 9, 22, {kFloat, kLongs}, {kFloat}, 3, 8, 0b100, {2, 3, kThrough}, check_unpool, lower_unpool},
};

}  // namespace

Family unpool_family() { return kUnpoolFamily; }

}  // namespace optima::llvm_cpu
