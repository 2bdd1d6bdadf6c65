// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/codegen: the kernel templates as LLVM bitcode, one module per architecture and vector width, inside this file.
#pragma once

#include <cstdint>
#include <string_view>

namespace optima::llvm_cpu {

/// The module for an LLVM architecture name ("x86_64", "aarch64") and floats per vector, for kernels without slots or for general ones (GENERAL
/// in kernels/parts/vec.hpp); empty when there is none.
std::string_view kernel_bitcode(std::string_view arch, int64_t vector_width, bool general);

}  // namespace optima::llvm_cpu
