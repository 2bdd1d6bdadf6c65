// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/codegen: what a device's triple, CPU and features mean to LLVM.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/llvm_cpu/compiler/lowering.hpp"

namespace llvm {
class TargetMachine;
}

namespace optima::llvm_cpu {

/// A machine's processor: "znver4", and what it can do of all that LLVM can ask it for. Hypervisors and kernels hide features that
/// the name promises.
struct HostCpu {
  std::string name;
  std::map<std::string, bool> features;
};
/// The one this runs on.
HostCpu host_cpu();

/// The target of a device kind ("X64", "ARM64"). cpu empty or "host" = the host's CPU without what it lacks when the kind is its own,
/// else x86-64-v3 or neoverse-n1; features as LLVM writes them ("+avx512f,-fma"). Throws sdk::Error(OPTIMA_INVALID_ARGUMENT)
/// for a CPU that LLVM does not know, OPTIMA_UNSUPPORTED for an x86 CPU without AVX2 and FMA.
Target make_target(std::string_view kind, std::string_view triple, std::string_view cpu, std::string_view features, const HostCpu& host = host_cpu());

/// Instruction set extensions the target has, as LLVM names them, of those that generated code can contain; sorted.
std::vector<std::string> required_features(const Target& target);

/// Those of matrix units, which only artifacts need whose kernels use them; sorted.
std::vector<std::string> matrix_features(const std::vector<KernelSpec>& kernels);

std::unique_ptr<llvm::TargetMachine> target_machine(const Target& target);

}  // namespace optima::llvm_cpu
