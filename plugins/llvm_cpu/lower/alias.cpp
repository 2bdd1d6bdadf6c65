// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: operators that only rename bytes.
#include "plugins/llvm_cpu/lower/parts/moved.hpp"
#include "plugins/llvm_cpu/lower/parts/shapes.hpp"

namespace optima::llvm_cpu {
namespace {

/// Blocked images that keep batch and channels are the same bytes.
bool keeps_blocks(const NodeView& n, const LowerContext& ctx) {
  const Dims in = n.in_dims(0), out = n.out_dims(0);
  return ctx.layout(n.input(0)) == Layout::Blocked && out.size() >= 3 && out.size() <= 5 && in[0] == out[0] && in[1] == out[1];
}

void lower_alias(std::span<const NodeView> nodes, LowerContext& ctx) {
  const NodeView& n = nodes[0];
  if (keeps_blocks(n, ctx)) ctx.rename(n.output(0), n.input(0));
  else ctx.alias(n.output(0), n.input(0));
}

/// In whatever layout the operand lies.
void lower_identity(std::span<const NodeView> nodes, LowerContext& ctx) { ctx.rename(nodes[0].output(0), nodes[0].input(0)); }

Refusal check_alias(const NodeView& n) {
  return count(n.in_dims(0)) == count(n.out_dims(0)) ? Refusal() : wrong_shape(n, 0, "as many elements as the result");
}

constexpr Lowering kAliasFamily[] = {
    {"Reshape", 1, 25, {kBytes, kIndex}, {kBytes}, 0, 8, 0, {1, 2}, check_alias, lower_alias, false, Tails::None, "", takes_moved, lower_moved},
    {"Flatten", 1, 25, {kBytes}, {kBytes}, 0, 8, 0, {}, check_alias, lower_alias, false, Tails::None, "", takes_moved, lower_moved},
    {"Squeeze", 1, 25, {kBytes, kIndex}, {kBytes}, 0, 8, 0, {1, 2}, check_alias, lower_alias, false, Tails::None, "", takes_moved, lower_moved},
    {"Unsqueeze", 1, 25, {kBytes, kIndex}, {kBytes}, 0, 8, 0, {1, 2}, check_alias, lower_alias, false, Tails::None, "", takes_moved, lower_moved},
    {"Identity", 1, 25, {kBytes}, {kBytes}, 0, 8, 0, {}, check_alias, lower_identity, false, Tails::None, "", takes_moved, lower_moved},
};

}  // namespace

Family alias_family() { return kAliasFamily; }

}  // namespace optima::llvm_cpu
