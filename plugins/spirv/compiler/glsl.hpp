// SPDX-License-Identifier: Apache-2.0
// plugins/spirv/compiler: GLSL to SPIR-V in this process, by glslang and SPIRV-Tools.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace spirv_plugin {

/// What one text became.
struct Module {
  std::vector<uint32_t> words;
};

/// A compute shader of version 450 for Vulkan 1.1 (SPIR-V 1.3), optimised, without names, validated for that environment; as glslang left it where
/// SPIRV-Tools' passes fail. The same text gives the same words with the same tools(). Throws INTERNAL with the first message of the tool: texts are
/// this plugin's own. Any thread.
Module compile_glsl(const std::string& text);

/// What the words depend on beside the text: versions of the tools and what they are asked for, on one line.
const std::string& tools();

}  // namespace spirv_plugin
