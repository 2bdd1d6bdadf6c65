// SPDX-License-Identifier: Apache-2.0
// plugins/spirv/compiler: the modules of many texts at once, on all threads, from the disk where they were made before.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "glsl.hpp"
#include "kernel_cache.hpp"

namespace spirv_plugin {

/// All of `texts`, in their order, on at most `threads` threads, the longest first. `done` is called with how many are ready, from the calling thread,
/// and may throw. Throws what the first of `texts` that failed threw.
std::vector<Module> compile_all(const std::vector<std::string>& texts, unsigned threads, const KernelCache& cache, const std::function<void(size_t)>& done);

}  // namespace spirv_plugin
