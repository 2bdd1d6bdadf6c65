// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: numbers of the fused tail, shared by the kernel templates and the planner. Plain C++, no vectors.
#pragma once
#include <stdint.h>

namespace k {

/// Bits of the tail: result = act(sum + bias + residual), or act(sum + bias) + residual.
enum Tail : int64_t { kBias = 1, kResidual = 2, kResidualAfter = 4 };

/// Activations; lo and hi are parameters of some.
enum Act : int64_t {
  kNone = 0,
  kRelu = 1,
  kClip = 2,         ///< min(hi, max(lo, v))
  kLeaky = 3,        ///< v > 0 ? v : lo * v
  kSigmoid = 4,
  kSilu = 5,         ///< v * sigmoid(v)
  kTanh = 6,
  kHardSigmoid = 7,  ///< min(1, max(0, lo * v + hi))
  kHardSwish = 8,    ///< v * hard sigmoid(v)
  kGelu = 9,         ///< v / 2 * (1 + erf(v / sqrt 2)); this and the next ones of matrix products only
  kGeluTanh = 10,    ///< its tanh approximation
  kMish = 11,        ///< v * tanh(log(1 + exp v))
};

}  // namespace k
