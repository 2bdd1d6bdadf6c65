// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/runtime: see cpu_features.hpp. Names as in codegen/targets.cpp.
#include "plugins/llvm_cpu/runtime/cpu_features.hpp"

#include <string_view>

#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace optima::llvm_cpu {
namespace {

#if defined(__x86_64__)
bool has(std::string_view name) {
  __builtin_cpu_init();
#define ASK(llvm_name, gcc_name) \
  if (name == llvm_name) return __builtin_cpu_supports(gcc_name);
  ASK("sse4.1", "sse4.1") ASK("sse4.2", "sse4.2") ASK("popcnt", "popcnt") ASK("avx", "avx") ASK("avx2", "avx2") ASK("fma", "fma")
  ASK("f16c", "f16c") ASK("bmi", "bmi") ASK("bmi2", "bmi2") ASK("lzcnt", "lzcnt") ASK("gfni", "gfni")
  ASK("avx512f", "avx512f") ASK("avx512cd", "avx512cd") ASK("avx512bw", "avx512bw") ASK("avx512dq", "avx512dq")
  ASK("avx512vl", "avx512vl") ASK("avx512ifma", "avx512ifma") ASK("avx512vbmi", "avx512vbmi") ASK("avx512vbmi2", "avx512vbmi2")
  ASK("avx512vnni", "avx512vnni") ASK("avx512bitalg", "avx512bitalg") ASK("avx512vpopcntdq", "avx512vpopcntdq")
  ASK("avx512bf16", "avx512bf16") ASK("avx512fp16", "avx512fp16")
#undef ASK
  return false;
}
#elif defined(__aarch64__)
bool has(std::string_view name) {
  const unsigned long one = getauxval(AT_HWCAP), two = getauxval(AT_HWCAP2);
  if (name == "neon") return one & HWCAP_ASIMD;
  if (name == "fp-armv8") return one & HWCAP_FP;
  if (name == "crc") return one & HWCAP_CRC32;
  if (name == "lse") return one & HWCAP_ATOMICS;
  if (name == "rdm") return one & HWCAP_ASIMDRDM;
  if (name == "dotprod") return one & HWCAP_ASIMDDP;
  if (name == "fullfp16") return one & HWCAP_ASIMDHP;
  if (name == "rcpc") return one & HWCAP_LRCPC;
  if (name == "sve") return one & HWCAP_SVE;
  if (name == "sve2") return two & HWCAP2_SVE2;
  if (name == "i8mm") return two & HWCAP2_I8MM;
  if (name == "bf16") return two & HWCAP2_BF16;
  return false;
}
#else
#error "llvm_cpu runs on x86-64 and AArch64"
#endif

}  // namespace

std::string running_arch() {
#if defined(__x86_64__)
  return "x86_64";
#else
  return "aarch64";
#endif
}

std::vector<std::string> missing_features(const std::vector<std::string>& wanted) {
  std::vector<std::string> out;
  for (const std::string& name : wanted)
    if (!has(name)) out.push_back(name);
  return out;
}

}  // namespace optima::llvm_cpu
