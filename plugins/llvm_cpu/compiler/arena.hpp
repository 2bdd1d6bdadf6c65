// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/compiler: offsets in one arena for buffers whose lifetimes are known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace optima::llvm_cpu {

struct Lifetime {
  uint64_t bytes = 0;
  size_t first = 0, last = 0;  ///< steps, both inside
  uint64_t offset = 0;         ///< set by place()
};

/// Gives buffers that live at the same time disjoint places, 64-byte aligned; returns the arena's size. Prefers the smallest
/// free region, then the one that was used last: a small hot footprint stays in the caches.
uint64_t place(std::vector<Lifetime>& buffers);

}  // namespace optima::llvm_cpu
