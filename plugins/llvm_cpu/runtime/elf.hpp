// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/runtime: whether a kernel file is whole: the system's loader crashes on a file that ends too early.
#pragma once

#include <cstdint>
#include <string>

namespace optima::llvm_cpu {

/// Empty, or what is wrong: not a shared object of this machine's architecture, segments outside the file, libraries needed.
std::string elf_mistake(const char* bytes, uint64_t size);

}  // namespace optima::llvm_cpu
