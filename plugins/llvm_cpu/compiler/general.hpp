// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/compiler: kernels for many sizes. A general kernel reads some of its literals, the slots, in the run, and so serves every spec that
// differs from it in slots alone. Plain C++: both halves of the plugin use it.
#pragma once

#include <cstdint>
#include <vector>

#include "plugins/llvm_cpu/compiler/op.hpp"

namespace optima::llvm_cpu {

/// Indices of literals that may be slots of this spec, sorted.
std::vector<uint32_t> sizes(const KernelSpec& spec);

/// The spec with these slots, and with its hints, which always are slots. At a slot the literal is 0; at a hint it stays what it was, so that the
/// kernel can be made for it. Requires a spec without slots; throws sdk::Error(OPTIMA_INTERNAL) for an index that is none of sizes(spec).
KernelSpec general(const KernelSpec& spec, const std::vector<uint32_t>& slots);

/// True when the general kernel does what the literal one does: all is equal but at the slots.
bool matches(const KernelSpec& general, const KernelSpec& literal);

/// What the general kernel reads to do what the literal one does. Requires matches().
std::vector<int64_t> row(const KernelSpec& general, const KernelSpec& literal);

/// Whether the tile that a general kernel was made for does well where the spec has its own: as large or larger, and what remains of a row is one
/// piece (a power of two, or any number: kernels/parts/powers.hpp), or so long that it is little beside the whole. Requires kernels of one template.
bool suits(const KernelSpec& general, const KernelSpec& spec);

/// Whether that tile has as many pixels or rows as the spec's. Requires the same.
bool covers(const KernelSpec& general, const KernelSpec& spec);

}  // namespace optima::llvm_cpu
