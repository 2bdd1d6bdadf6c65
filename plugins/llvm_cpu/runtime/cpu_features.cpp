// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/runtime: see cpu_features.hpp. Names as in codegen/targets.cpp.
#include "plugins/llvm_cpu/runtime/cpu_features.hpp"

#include <algorithm>

#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#else
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace optima::llvm_cpu {
namespace {

/// Every name with what the processor answers.
struct Feature {
  std::string_view name;
  bool (*here)();
};

#if defined(__x86_64__)
/// Tile registers are state that a process must ask the kernel for, once; later threads have it, too.
bool may_use_tiles() {
  constexpr int kRequest = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  static const bool may = syscall(SYS_arch_prctl, kRequest, kTileData) == 0;
  return may;
}
bool has_tiles(unsigned bit) {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d >> bit & 1) && may_use_tiles();
}

#define ASK(llvm_name, gcc_name) {llvm_name, [] { return __builtin_cpu_supports(gcc_name) != 0; }},
constexpr Feature kFeatures[] = {
    ASK("sse4.1", "sse4.1") ASK("sse4.2", "sse4.2") ASK("popcnt", "popcnt") ASK("avx", "avx") ASK("avx2", "avx2") ASK("fma", "fma")
    ASK("fma4", "fma4") ASK("xop", "xop") ASK("tbm", "tbm") ASK("movbe", "movbe") ASK("avxvnni", "avxvnni")
    ASK("f16c", "f16c") ASK("bmi", "bmi") ASK("bmi2", "bmi2") ASK("lzcnt", "lzcnt") ASK("gfni", "gfni")
    ASK("avx512f", "avx512f") ASK("avx512cd", "avx512cd") ASK("avx512bw", "avx512bw") ASK("avx512dq", "avx512dq")
    ASK("avx512vl", "avx512vl") ASK("avx512ifma", "avx512ifma") ASK("avx512vbmi", "avx512vbmi") ASK("avx512vbmi2", "avx512vbmi2")
    ASK("avx512vnni", "avx512vnni") ASK("avx512bitalg", "avx512bitalg") ASK("avx512vpopcntdq", "avx512vpopcntdq")
    ASK("avx512bf16", "avx512bf16") ASK("avx512fp16", "avx512fp16")
    {"amx-tile", [] { return has_tiles(24); }}, {"amx-int8", [] { return has_tiles(25); }}, {"amx-bf16", [] { return has_tiles(22); }}};
#undef ASK
#elif defined(__aarch64__)
#define ASK(llvm_name, word, bit) {llvm_name, [] { return (getauxval(word) & bit) != 0; }},
constexpr Feature kFeatures[] = {
    ASK("neon", AT_HWCAP, HWCAP_ASIMD) ASK("fp-armv8", AT_HWCAP, HWCAP_FP) ASK("crc", AT_HWCAP, HWCAP_CRC32) ASK("lse", AT_HWCAP, HWCAP_ATOMICS)
    ASK("rdm", AT_HWCAP, HWCAP_ASIMDRDM) ASK("dotprod", AT_HWCAP, HWCAP_ASIMDDP) ASK("fullfp16", AT_HWCAP, HWCAP_ASIMDHP)
    ASK("rcpc", AT_HWCAP, HWCAP_LRCPC) ASK("sve", AT_HWCAP, HWCAP_SVE) ASK("sve2", AT_HWCAP2, HWCAP2_SVE2) ASK("i8mm", AT_HWCAP2, HWCAP2_I8MM)
    ASK("bf16", AT_HWCAP2, HWCAP2_BF16)};
#undef ASK
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

bool is_known_feature(std::string_view name) {
  return std::any_of(std::begin(kFeatures), std::end(kFeatures), [&](const Feature& f) { return f.name == name; });
}

bool has_feature(std::string_view name) {
#if defined(__x86_64__)
  __builtin_cpu_init();
#endif
  return std::any_of(std::begin(kFeatures), std::end(kFeatures), [&](const Feature& f) { return f.name == name && f.here(); });
}

std::vector<std::string> missing_features(const std::vector<std::string>& wanted, bool (*has)(std::string_view)) {
  std::vector<std::string> out;
  for (const std::string& name : wanted)
    if (!has(name)) out.push_back(name);
  return out;
}

}  // namespace optima::llvm_cpu
