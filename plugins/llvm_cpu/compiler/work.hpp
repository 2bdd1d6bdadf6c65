// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/compiler: what Op::work counts: multiply-adds of a dense kernel of floats, of which a core with 512-bit vectors does 32 per cycle. How many
// of them one element of other work takes; from steps of trained models on one core of a Xeon with AVX-512, data in L2.
#pragma once

#include <cstdint>

namespace optima::llvm_cpu::work {

constexpr int64_t kMoved = 16;       ///< transposed, split, gathered, between layouts: 0.4 to 0.6 cycles
constexpr int64_t kComputed = 4;     ///< per value of an element-wise chain
constexpr int64_t kPooled = 8;       ///< per tap
constexpr int64_t kReduced = 8;
constexpr int64_t kNormalized = 16;  ///< LayerNormalization: 0.6 cycles
constexpr int64_t kStreamed = 8;     ///< per weight of a product of few rows, at least: they come from the cache of the last level, 8 in a nanosecond
constexpr int64_t kSoftmax = 48;     ///< 1.5 cycles; rows shorter than a vector cost a vector

}  // namespace optima::llvm_cpu::work
