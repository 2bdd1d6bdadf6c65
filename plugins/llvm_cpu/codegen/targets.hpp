// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/codegen: what a device's triple, CPU and features mean to LLVM.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/llvm_cpu/compiler/lowering.hpp"

namespace llvm {
class TargetMachine;
}

namespace optima::llvm_cpu {

/// The target of a device kind ("X64", "ARM64"). cpu empty or "host" = this machine's CPU when the kind is its own, else
/// x86-64-v3 or neoverse-n1; features as LLVM writes them ("+avx512f,-fma"). Throws sdk::Error(OPTIMA_INVALID_ARGUMENT)
/// for a CPU that LLVM does not know, OPTIMA_UNSUPPORTED for an x86 CPU without AVX2 and FMA.
Target make_target(std::string_view kind, std::string_view triple, std::string_view cpu, std::string_view features);

/// Instruction set extensions the target has, as LLVM names them, of those that generated code can contain; sorted.
std::vector<std::string> required_features(const Target& target);

std::unique_ptr<llvm::TargetMachine> target_machine(const Target& target);

/// The machine this runs on: "znver4".
std::string host_cpu();

}  // namespace optima::llvm_cpu
