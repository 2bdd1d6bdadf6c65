// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/runtime: many constants packed at once, on several threads.
#pragma once

#include <functional>
#include <vector>

#include "plugins/llvm_cpu/plan/pack.hpp"

namespace optima::llvm_cpu {

struct PackJob {
  const Pack* pack;
  const char* from;  ///< may be unaligned
  uint64_t size;
  std::vector<float> scale;  ///< per output channel, or empty
  char* to;  ///< packed_bytes(*pack, size)
};

/// The floats in these bytes, which may be unaligned.
std::vector<float> floats_at(const char* bytes, uint64_t size);

/// Throws CANCELLED soon after `cancelled`, asked by any of the threads, says so.
void pack_all(const std::vector<PackJob>& jobs, int threads, const std::function<bool()>& cancelled);

}  // namespace optima::llvm_cpu
