// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/runtime: the processor this process runs on, as both halves of the plugin report it.
#pragma once

#include "optima/plugin/plugin.hpp"

namespace optima::llvm_cpu {

/// X64:0 or ARM64:0, whatever this file was built for; and that 32-bit processors are not served.
std::vector<sdk::PresentDevice> present_processors();

}  // namespace optima::llvm_cpu
