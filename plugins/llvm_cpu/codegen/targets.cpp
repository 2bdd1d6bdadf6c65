// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/codegen: see targets.hpp.
#include "plugins/llvm_cpu/codegen/targets.hpp"

#include <llvm/ADT/StringMap.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/TargetParser/Triple.h>

#include <algorithm>
#include <mutex>
#include <set>

#include "optima/plugin/error.hpp"
#include "plugins/llvm_cpu/runtime/cpu_features.hpp"

namespace optima::llvm_cpu {
namespace {

void register_targets() {
  static std::once_flag once;  // LLVM's own registry is global
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo(), LLVMInitializeX86Target(), LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter(), LLVMInitializeX86AsmParser(), LLVMInitializeX86Disassembler();
    LLVMInitializeAArch64TargetInfo(), LLVMInitializeAArch64Target(), LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter(), LLVMInitializeAArch64AsmParser(), LLVMInitializeAArch64Disassembler();
  });
}

const llvm::Target& registered(const std::string& triple) {
  register_targets();
  std::string why;
  const llvm::Target* t = llvm::TargetRegistry::lookupTarget(triple, why);
  if (!t) throw sdk::Error(OPTIMA_INVALID_ARGUMENT, "triple \"" + triple + "\": " + why);
  return *t;
}

std::unique_ptr<llvm::MCSubtargetInfo> subtarget(const Target& t) {
  return std::unique_ptr<llvm::MCSubtargetInfo>(registered(t.triple).createMCSubtargetInfo(t.triple, t.cpu, t.features));
}

bool has(const Target& t, const char* feature) { return subtarget(t)->checkFeatures(std::string("+") + feature); }

/// "-avx512f,-avx512vl": what the CPU's name promises and this one does not have.
std::string without_missing(const Target& t, const HostCpu& host) {
  const auto info = subtarget(t);
  std::string out;
  for (const auto& [name, there] : host.features)
    if (!there && info->checkFeatures("+" + name)) out += (out.empty() ? "-" : ",-") + name;
  return out;
}

/// "+amx-int8,+amx-tile": what this CPU has, multiplies with, and its name does not promise (virtual machines have names of older ones).
std::string with_more(const Target& t, const HostCpu& host) {
  const auto info = subtarget(t);
  std::string out;
  for (const char* name : {"amx-bf16", "amx-int8", "amx-tile"})
    if (const auto at = host.features.find(name); at != host.features.end() && at->second && !info->checkFeatures(std::string("+") + name))
      out += (out.empty() ? "+" : ",+") + std::string(name);
  return out;
}

std::string joined(const std::string& a, const std::string& b) { return a.empty() || b.empty() ? a + b : a + "," + b; }

/// What the plugin's runtime half can test on the machine (runtime/cpu_features.cpp knows the same names).
constexpr const char* kX86[] = {"avx", "avx2", "avx512bf16", "avx512bitalg", "avx512bw", "avx512cd", "avx512dq", "avx512f",
                                "avx512fp16", "avx512ifma", "avx512vbmi", "avx512vbmi2", "avx512vl", "avx512vnni",
                                "avx512vpopcntdq", "avxvnni", "bmi", "bmi2", "f16c", "fma", "fma4", "gfni", "lzcnt", "movbe", "popcnt",
                                "sse4.1", "sse4.2", "tbm", "xop"};
constexpr const char* kArm[] = {"bf16", "crc", "dotprod", "fp-armv8", "fullfp16", "i8mm", "lse", "neon", "rcpc", "rdm", "sve", "sve2"};

k::Dot dot_of(const Target& t, bool arm) {
  if (arm) return has(t, "dotprod") ? k::Dot::Signed : k::Dot::Widened;
  if (t.vector_width == 16) return has(t, "avx512vnni") ? k::Dot::Vnni : k::Dot::Pairs;
  return has(t, "avxvnni") ? k::Dot::AvxVnni : k::Dot::Pairs;
}

}  // namespace

HostCpu host_cpu() {
  HostCpu host{llvm::sys::getHostCPUName().str(), {}};
  for (const auto& f : llvm::sys::getHostCPUFeatures()) host.features[f.getKey().str()] = f.getValue();
  for (const char* name : {"amx-tile", "amx-int8", "amx-bf16"})  // the system may keep them from a process
    if (const auto at = host.features.find(name); at != host.features.end()) at->second = at->second && has_feature(name);
  return host;
}

Target make_target(std::string_view kind, std::string_view triple, std::string_view cpu, std::string_view features, const HostCpu& host) {
  Target t;
  const bool arm = kind == "ARM64";
  t.triple = !triple.empty() ? std::string(triple) : arm ? "aarch64-unknown-linux-gnu" : "x86_64-unknown-linux-gnu";
  const llvm::Triple parsed(t.triple);
  if (parsed.getArch() != (arm ? llvm::Triple::aarch64 : llvm::Triple::x86_64))
    throw sdk::Error(OPTIMA_INVALID_ARGUMENT, "triple \"" + t.triple + "\" is not of a device of kind " + std::string(kind));
  const bool native = llvm::Triple(llvm::sys::getProcessTriple()).getArch() == parsed.getArch();
  const bool named = !cpu.empty() && cpu != "host";
  t.cpu = named ? std::string(cpu) : native ? host.name : arm ? "neoverse-n1" : "x86-64-v3";
  if (!subtarget({t.triple, "", ""})->isCPUStringValid(t.cpu))  // asking with the CPU itself would print a warning
    throw sdk::Error(OPTIMA_INVALID_ARGUMENT, "cpu \"" + t.cpu + "\" is unknown for " + t.triple);
  if (!named && native) t.features = joined(without_missing(t, host), with_more(t, host));
  t.features = joined(t.features, std::string(features));
  if (arm) {
    t.vector_width = 4;
  } else if (has(t, "avx512f") && has(t, "avx512vl") && has(t, "avx512bw") && has(t, "avx512dq")) {
    t.vector_width = 16;
    t.permutes_bytes = has(t, "avx512vbmi");
    // vdpbf16ps: by its instruction tables twice as fast as f32 on Zen 4; measured on Sapphire Rapids half as fast, and the matrix unit 14 times faster.
    if (has(t, "amx-bf16") && has(t, "amx-tile")) t.bf16 = Bf16::Tiles;
    else if (has(t, "avx512bf16") && t.cpu.starts_with("znver")) t.bf16 = Bf16::Dots;
  } else if (has(t, "avx2") && has(t, "fma")) {
    t.vector_width = 8;
    t.registers = 16;
  } else {
    throw sdk::Error(OPTIMA_UNSUPPORTED, "cpu \"" + t.cpu + "\" has no AVX2 and FMA, wanted at least x86-64-v3");
  }
  t.dot = dot_of(t, arm);
  t.amx = t.dot == k::Dot::Vnni && has(t, "amx-tile") && has(t, "amx-int8");
  return t;
}

std::vector<std::string> matrix_features(const std::vector<KernelSpec>& kernels) {
  std::set<std::string> out;
  for (const KernelSpec& k : kernels)
    if (!k.matrix.empty()) out.insert({std::string(k.matrix), "amx-tile"});
  return {out.begin(), out.end()};
}

std::vector<std::string> required_features(const Target& target) {
  const auto info = subtarget(target);
  std::vector<std::string> out;
  const auto add = [&](const char* name) {
    if (info->checkFeatures(std::string("+") + name)) out.emplace_back(name);
  };
  if (llvm::Triple(target.triple).getArch() == llvm::Triple::x86_64) std::for_each(std::begin(kX86), std::end(kX86), add);
  else std::for_each(std::begin(kArm), std::end(kArm), add);
  return out;
}

std::unique_ptr<llvm::TargetMachine> target_machine(const Target& t) {
  return std::unique_ptr<llvm::TargetMachine>(registered(t.triple).createTargetMachine(
      t.triple, t.cpu, t.features, llvm::TargetOptions(), llvm::Reloc::PIC_, std::nullopt, llvm::CodeGenOptLevel::Aggressive));
}

}  // namespace optima::llvm_cpu
