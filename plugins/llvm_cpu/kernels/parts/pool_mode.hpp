// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: what a pool makes of its window.
#pragma once
#include "plugins/llvm_cpu/kernels/parts/literals.hpp"

namespace k {

enum class PoolMode : int64_t {
  Max,
  Average,         ///< of the taps inside
  AverageWithPad,  ///< of all taps of the window, or of those on the image and its padding
  Lp,              ///< in plain layout only
};

}  // namespace k
