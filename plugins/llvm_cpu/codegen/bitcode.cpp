// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/codegen: the bitcode files that the build made, taken in by the assembler.
#include "plugins/llvm_cpu/codegen/bitcode.hpp"

// The build passes OPTIMA_BITCODE_DIR.
#define EMBED(name)                                                                           \
  asm(".section .rodata.optima_bitcode,\"a\"\n.balign 16\n"                                   \
      "optima_" #name "_begin:\n.incbin \"" OPTIMA_BITCODE_DIR "/" #name ".bc\"\n"             \
      "optima_" #name "_end:\n.previous\n");                                                  \
  extern "C" const char name##_begin[] asm("optima_" #name "_begin") __attribute__((visibility("hidden"))); \
  extern "C" const char name##_end[] asm("optima_" #name "_end") __attribute__((visibility("hidden")));

EMBED(x86_64_16)
EMBED(x86_64_8)
EMBED(aarch64_4)
EMBED(x86_64_16_general)
EMBED(x86_64_8_general)
EMBED(aarch64_4_general)

namespace optima::llvm_cpu {

std::string_view kernel_bitcode(std::string_view arch, int64_t vector_width, bool general) {
  const auto text = [](const char* begin, const char* end) { return std::string_view(begin, static_cast<size_t>(end - begin)); };
  if (arch == "x86_64" && vector_width == 16) return general ? text(x86_64_16_general_begin, x86_64_16_general_end) : text(x86_64_16_begin, x86_64_16_end);
  if (arch == "x86_64" && vector_width == 8) return general ? text(x86_64_8_general_begin, x86_64_8_general_end) : text(x86_64_8_begin, x86_64_8_end);
  if (arch == "aarch64" && vector_width == 4) return general ? text(aarch64_4_general_begin, aarch64_4_general_end) : text(aarch64_4_begin, aarch64_4_end);
  return {};
}

}  // namespace optima::llvm_cpu
