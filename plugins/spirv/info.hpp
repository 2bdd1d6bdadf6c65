// SPDX-License-Identifier: Apache-2.0
// plugins/spirv: who the plugin is. Both files and their manifests are made from this; the compiler's manifest adds the operators.
#pragma once

#include "optima/plugin/manifest.hpp"

namespace spirv_plugin {

namespace sdk = optima::sdk;

inline constexpr const char* kFormat = "optima.spirv/1";

inline constexpr sdk::DeviceKind kDevices[] = {{"NVIDIA", "gpu", true},  {"AMDGPU", "gpu", true}, {"INTELGPU", "gpu", true},
                                               {"MALI", "gpu", true},    {"ADRENO", "gpu", true}, {"VULKAN", "gpu", true}};
inline constexpr sdk::OptionSpec kOptions[] = {
    {"spirv.limits", "path", "compile", "", "file that describes the GPU to compile for; empty = what every GPU of the kind has", true},
    {"spirv.precision", "enum", "compile", "f32", "type that floats lie in on the GPU; sums are f32 with both. f16 wants a GPU with 16-bit storage", true, "f32 f16"},
    {"spirv.winograd", "bool", "compile", "true", "3x3 convolutions by Winograd's method where that is faster: a little less exact", true},
    {"spirv.guard", "bool", "compile", "false", "kernels that look at every index first; a run that left a buffer fails. Slow: to find what is wrong", true},
    {"spirv.device", "string", "load", "", "GPU to run on: its UUID, or part of its name in letters of either case; empty = by the kind", false},
    {"spirv.pretend", "path", "load", "", "file of limits beyond which the GPU is taken to have nothing: for a lesser one", false},
    {"spirv.quirks", "string", "load", "", "what of the GPU is not used because its driver does it wrong: auto (also when empty) = what is known, none, or names with commas between them", false},
};

constexpr sdk::Info info() {
  sdk::Info i;
  i.id = "spirv", i.vendor = "Optima", i.version = "0.1.0", i.build_id = OPTIMA_BUILD_ID;
  i.devices = kDevices;
  i.options = kOptions;
  i.formats = kFormat;
  i.priority = -30;  // behind a vendor's own plugin for the same kind
  return i;
}
inline constexpr sdk::Info kInfo = info();

}  // namespace spirv_plugin
