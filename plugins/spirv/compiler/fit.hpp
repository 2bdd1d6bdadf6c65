// SPDX-License-Identifier: Apache-2.0
// plugins/spirv/compiler: whether steps run on a GPU of given limits, as far as their texts say it.
#pragma once

#include "lowering.hpp"

namespace spirv_plugin {

/// Loop iterations of one invocation in one dispatch, of all of its loops. Drivers end what runs for long: those of graphics cards after seconds, and
/// Mesa's llvmpipe counts 65535 iterations, whereupon every loop ends at its first and what it computes is wrong without a word (its lp_bld_limits.h).
inline constexpr uint64_t kMostIterations = 60000;

/// Of a draft's step: what its kernels need that a GPU of these limits has not, as a sentence's end: "needs 256 invocations in a workgroup, this GPU has
/// 128"; empty = nothing. The last way is held against the limits, every way against kMostIterations.
std::string lacking(const Draft& draft, const DraftStep& step, const Limits& limits);

/// verdict_of(), and whether the node's own steps run within these limits, with floats that lie as `floats`; `winograd`: as Lowering has it.
sdk::Verdict verdict_within(const sdk::Node& node, const Limits& limits, Element floats, bool winograd = true);

}  // namespace spirv_plugin
