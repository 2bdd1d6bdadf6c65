// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/compiler: what a row says of an operator's operands, as the ONNX operator pages have them, and its judgement.
#pragma once

#include "plugins/llvm_cpu/compiler/node.hpp"

namespace optima::llvm_cpu {

/// Bits of Signature::same: inputs 0..14, 15 for input 15 and all after it; output k is bit 16 + k, 31 for all from 15 on.
constexpr uint32_t in_bit(uint32_t k) { return 1u << k; }
constexpr uint32_t out_bit(uint32_t k) { return 1u << (16 + k); }
constexpr uint32_t kInputs = 0xFFFF, kOutputs = 0xFFFF0000;
constexpr uint32_t kThrough = in_bit(0) | out_bit(0), kPair = in_bit(0) | in_bit(1), kBoth = kPair | out_bit(0);
constexpr uint32_t kMany = UINT32_MAX;

struct Signature {
  uint32_t least = 1, most = 1;  ///< inputs; the first `least` of them must be there
  uint32_t same = kThrough;      ///< operands that share one type
  uint32_t outputs = 1;          ///< most; output 0 must be there unless `any_output`
  bool any_output = false;       ///< one of the outputs must be there, any
};

struct Refusal;
/// Refuses missing and superfluous operands, operands of mixed types, tensors (dims of 0 counted as 1) of 2^31 elements or
/// more, and constants of another size or type than their value.
Refusal check_signature(const Signature& signature, const NodeView& node);

}  // namespace optima::llvm_cpu
