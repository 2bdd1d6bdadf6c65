// SPDX-License-Identifier: Apache-2.0
// llvm_cpu: who the plugin is. Both files and their manifests are made from this; the compiler's manifest adds the operators.
#pragma once

#include "optima/plugin/manifest.hpp"

namespace optima::llvm_cpu {

inline constexpr sdk::DeviceKind kDevices[] = {{"X64", "cpu", true}, {"ARM64", "cpu", true}};
inline constexpr sdk::OptionSpec kOptions[] = {
    {"llvm_cpu.cpu", "string", "compile", "", "CPU to compile for, as LLVM names it; empty = the device's, host = this machine's", true},
    {"llvm_cpu.features", "string", "compile", "", "instruction set changes, as LLVM writes them: +avx512f,-fma", true},
    {"llvm_cpu.linker", "path", "compile", "", "ld.lld to link kernels with; empty = the plugin links them itself", false},
    {"llvm_cpu.winograd", "bool", "compile", "true", "3x3 convolutions by Winograd's method: faster, a little less exact", true},
    {"llvm_cpu.rounds_to_bytes", "bool", "compile", "true", "products whose first operand the model allows to be rounded to 8 bits (MatMulNBits with accuracy_level 4) round it, as ONNX Runtime does", true},
    {"llvm_cpu.doors", "bool", "compile", "true", "tensors that go from one subgraph to another stay blocked where both sides work on blocks", true},
};

constexpr sdk::Info info() {
  sdk::Info i;
  i.id = "llvm_cpu", i.vendor = "Optima", i.version = "0.1.0", i.build_id = OPTIMA_BUILD_ID;
  i.devices = kDevices;
  i.options = kOptions;
  i.formats = "optima.llvm_cpu/3 optima.llvm_cpu.fitted/9";
  return i;
}
inline constexpr sdk::Info kInfo = info();

}  // namespace optima::llvm_cpu
