// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/runtime: see present.hpp.
#include "plugins/llvm_cpu/runtime/present.hpp"

#include "plugins/llvm_cpu/runtime/cpu_features.hpp"
#include "plugins/llvm_cpu/runtime/processors.hpp"

namespace optima::llvm_cpu {

std::vector<sdk::PresentDevice> present_processors() {
  sdk::PresentDevice d;
  d.device_class = OPTIMA_CLASS_CPU;
  d.kind = running_arch() == "x86_64" ? "X64" : "ARM64";
  d.arch = running_arch();
  d.attributes = {{"processors", std::to_string(allowed_processors().size())}};
  const std::string why = "targets are 64-bit and little-endian in this version";
  return {d, sdk::PresentDevice::refused("X86", OPTIMA_CLASS_CPU, why), sdk::PresentDevice::refused("ARM", OPTIMA_CLASS_CPU, why)};
}

}  // namespace optima::llvm_cpu
