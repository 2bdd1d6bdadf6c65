// SPDX-License-Identifier: Apache-2.0
// core/runtime: places buffers of known size and lifetime in one block of memory. Knows no tensors.
#pragma once

#include <cstdint>
#include <span>

namespace optima {

/// A buffer that must keep its bytes from step `first` to step `last`, both included.
struct ArenaItem {
  uint64_t size = 0;       ///< bytes
  uint64_t alignment = 64; ///< power of two
  uint32_t first = 0, last = 0;
  uint64_t offset = 0;     ///< filled in
};

/// Gives every item an offset so that items alive at the same step never overlap; returns the bytes needed. Largest first, each at
/// the lowest free offset: within a few percent of the optimum on chains and residual graphs. O(n^2). Deterministic.
uint64_t assign_offsets(std::span<ArenaItem> items);

}  // namespace optima
