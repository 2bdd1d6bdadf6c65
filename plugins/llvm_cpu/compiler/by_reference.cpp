// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/compiler: see by_reference.hpp.
#include "plugins/llvm_cpu/compiler/by_reference.hpp"

#include "plugins/llvm_cpu/kernels/layout.hpp"

namespace optima::llvm_cpu {
namespace {

Layout as_stored(const NodeView& n, uint32_t value) { return is_half(n.graph.stored_dtype(value)) ? Layout::Narrow : Layout::Plain; }

/// Rough: the evaluators take some ten nanoseconds an element.
constexpr int64_t kWorkOfElement = 100;

void lower(std::span<const NodeView> nodes, LowerContext& ctx) {
  const NodeView& n = nodes[0];
  Op op;
  op.kernel.entry = kReferenceEntry;
  op.kernel.literals = {n.raw - optima_get_node(n.graph.image(), 0)};
  for (uint32_t k = 0; k < n.input_count(); ++k) op.args.push_back(n.has_input(k) ? ctx.read(n.input(k), as_stored(n, n.input(k))) : LowerContext::null());
  for (uint32_t k = 0; k < n.output_count(); ++k) {
    op.args.push_back(n.has_output(k) ? ctx.write(n.output(k), as_stored(n, n.output(k))) : LowerContext::null());
    if (n.has_output(k)) op.work += count(n.out_dims(k)) * kWorkOfElement;
  }
  op.label = std::string(n.op()) + " by the reference";
  ctx.emit(std::move(op));
}

}  // namespace

bool is_built_in(const KernelSpec& spec) { return spec.entry == k::CopyBytes::entry; }

const Lowering& reference_row() {
  static const Lowering row = [] {
    Lowering r;
    r.lower = lower;
    return r;
  }();
  return row;
}

}  // namespace optima::llvm_cpu
