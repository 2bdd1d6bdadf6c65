// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/codegen: from a KernelSpec to an object file. The only rooms that know LLVM are this one and its neighbours.
#pragma once

#include <string>

#include "plugins/llvm_cpu/compiler/lowering.hpp"

namespace optima::llvm_cpu {

/// Who orders instructions before registers are given out.
enum class Order {
  Scheduled,  ///< LLVM, which begins loads early
  AsWritten   ///< the template, which begins no load before a register is free for it
};

/// A template of the target's bitcode with constants for its literals, optimised for the target's CPU:
/// the bytes of a relocatable object that defines `kernel` and needs at most memcpy, memmove and memset.
/// Any thread; own LLVM context. Throws sdk::Error(OPTIMA_INTERNAL) naming the spec when LLVM refuses.
std::string specialise(const KernelSpec& spec, const Target& target, Order order = Order::Scheduled);

/// "k_conv(2,14,...)", reals as their bits, "?" at a slot ("?8" at a hint): for messages and as part of the cache key.
std::string to_text(const KernelSpec& spec);

}  // namespace optima::llvm_cpu
