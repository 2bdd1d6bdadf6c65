// SPDX-License-Identifier: Apache-2.0
// plugins/spirv/compiler: GLSL to SPIR-V in this process, by glslang and SPIRV-Tools.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace spirv_plugin {

/// What one text became.
struct Module {
  std::vector<uint32_t> words;
  bool optimised = true;  ///< false: SPIRV-Tools' passes failed, the module is as glslang left it
};

/// A compute shader of version 450 for Vulkan 1.1 (SPIR-V 1.3), optimised, without names, validated for that environment. The same text gives the
/// same words. Throws INTERNAL with the first message of the tool: texts are this plugin's own. Any thread.
Module compile_glsl(const std::string& text);

/// All of `texts`, on at most `threads` threads; `done` is called with how many are ready, from the calling thread, and may throw.
std::vector<Module> compile_all(const std::vector<std::string>& texts, unsigned threads, const std::function<void(size_t)>& done);

}  // namespace spirv_plugin
