// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: what convolution and transposed convolution share: groups, packing, folded constants.
#pragma once

#include <string>
#include <vector>

#include "plugins/llvm_cpu/compiler/lowering.hpp"
#include "plugins/llvm_cpu/compiler/tail.hpp"
#include "plugins/llvm_cpu/lower/parts/window.hpp"

namespace optima::llvm_cpu {

/// Groups as the kernels see them: `diagonal` neighbours are merged until their channels fill whole vectors; the weights
/// between different merged groups are zero.
struct Groups {
  int64_t count = 1, diagonal = 1;
  int64_t ic = 1, oc = 1;  ///< channels of one merged group
};
Groups merge_groups(int64_t groups, int64_t channels, int64_t out_channels, int64_t vector_width);

/// Constants per output channel with BatchNormalization folded in; empty = not needed.
struct Folded {
  std::vector<float> scale, bias;
  int64_t arrays = 1;                   ///< 3: behind bias lie factors and summands of what is normalised after the activation
  uint32_t computed_bias = OPTIMA_NONE;  ///< its value, in place of `bias`
};
Folded fold(const NodeView& conv, const FusedTail& tail, int64_t out_channels);
k::Tail literals(const FusedTail& tail, const Folded& folded, const Groups& groups, int64_t vector_width);
Operand bias_of(const Folded& folded, const Groups& groups, LowerContext& ctx);
/// Weights, a constant or computed, with the factors folded in.
Operand weights_of(uint32_t value, const Pack& pack, const Folded& folded, const GraphView& graph, LowerContext& ctx);

std::string to_bytes(const std::vector<float>& values);
/// A bias of `count` * oc values, padded to vectors per group; `arrays` of them.
Pack bias_pack(const Groups& groups, int64_t vector_width, int64_t arrays = 1);
/// Weights [oc][ic / group][kd][kh][kw] for the dense kernels.
Pack dense_pack(const Window& w, const Groups& groups, int64_t vector_width, int64_t oc_blocks, int64_t in_block);

/// "64->128 3x3 s2 @56x56"
std::string describe(const Window& w);

/// Refuses weights for other channel numbers than those of the node's input and output, groups that do not divide them, and
/// nothing to convolve. Weights are [in][out / group] when `transposed`, else [out][in / group].
Refusal check_groups(const NodeView& n, bool transposed);

}  // namespace optima::llvm_cpu
