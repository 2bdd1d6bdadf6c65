// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/codegen: from a KernelSpec to an object file. The only rooms that know LLVM are this one and its neighbours.
#pragma once

#include <string>

#include "plugins/llvm_cpu/compiler/lowering.hpp"

namespace optima::llvm_cpu {

/// A template of the target's bitcode with constants for its literals, optimised for the target's CPU:
/// the bytes of a relocatable object that defines `kernel` and needs at most memcpy, memmove and memset.
/// Any thread; own LLVM context. Throws sdk::Error(OPTIMA_INTERNAL) naming the spec when LLVM refuses.
std::string specialise(const KernelSpec& spec, const Target& target);

/// "k_conv(2,14,...)", reals as their bits, "?" at a slot ("?8" at a hint): for messages and as part of the cache key.
std::string to_text(const KernelSpec& spec);

}  // namespace optima::llvm_cpu
