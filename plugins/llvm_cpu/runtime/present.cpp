// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/runtime: see present.hpp.
#include "plugins/llvm_cpu/runtime/present.hpp"

#include <sched.h>

#include <algorithm>

#include "plugins/llvm_cpu/runtime/cpu_features.hpp"

namespace optima::llvm_cpu {

int allowed_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

std::vector<sdk::PresentDevice> present_processors() {
  sdk::PresentDevice d;
  d.device_class = OPTIMA_CLASS_CPU;
  d.kind = running_arch() == "x86_64" ? "X64" : "ARM64";
  d.arch = running_arch();
  d.attributes = {{"processors", std::to_string(allowed_processors())}};
  const std::string why = "targets are 64-bit and little-endian in this version";
  return {d, sdk::PresentDevice::refused("X86", OPTIMA_CLASS_CPU, why), sdk::PresentDevice::refused("ARM", OPTIMA_CLASS_CPU, why)};
}

}  // namespace optima::llvm_cpu
