// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: the fused tail among the literals of a template. Plain C++, no vectors.
#pragma once
#include "plugins/llvm_cpu/kernels/parts/literals.hpp"

namespace k {

enum class Act : int64_t {
  None,
  Relu,
  Clip,         ///< min(hi, max(lo, v))
  Leaky,        ///< v > 0 ? v : lo * v
  Sigmoid,
  Silu,         ///< v * sigmoid(v)
  Tanh,
  HardSigmoid,  ///< min(1, max(0, lo * v + hi))
  HardSwish,    ///< v * hard sigmoid(v)
  Gelu,         ///< v / 2 * (1 + erf(v / sqrt 2)); this and the next ones of matrix products only
  GeluTanh,     ///< its tanh approximation
  Mish,         ///< v * tanh(log(1 + exp v))
};

/// An activation with its parameters.
struct Activation {
  Act kind;
  double lo, hi;
};

/// Bits of Tail::bits.
constexpr int64_t kBias = 1, kResidual = 2, kResidualAfter = 4, kScaled = 8, kNormalised = 16;

/// result = act(sum + bias + residual) or act(sum + bias), with kScaled times scale plus shift, with kNormalised times a number plus another one of its
/// channel, which lie `apart` floats and twice as many behind its bias; then + residual where it comes after.
struct Tail {
  int64_t bits;
  Activation act;
  double scale = 1, shift = 0;
  int64_t apart = 0;
};

}  // namespace k
