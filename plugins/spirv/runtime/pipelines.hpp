// SPDX-License-Identifier: Apache-2.0
// plugins/spirv/runtime: the pipelines of a program, made by several threads.
#pragma once

#include "gpu.hpp"

namespace spirv_plugin {

/// A kernel with the layout of the buffers that it is bound to.
struct PipelineOrder {
  const sdk::KeptBlob* module;  ///< SPIR-V
  VkPipelineLayout layout;
  std::string step;             ///< for errors: the first that runs it
};

/// Pipelines in the order of `orders`, which the caller destroys. The calling thread and at most `threads` - 1 others make them, fewer where none can be started. `cache` must synchronize itself
/// (made without EXTERNALLY_SYNCHRONIZED). Throws DEVICE or MEMORY for the first in order that failed, however many did and in whatever order they ended; then none is left.
std::vector<VkPipeline> make_pipelines(const Gpu& gpu, VkPipelineCache cache, const std::vector<PipelineOrder>& orders, unsigned threads);

/// The words of a module, aligned.
std::vector<uint32_t> words_of(const sdk::KeptBlob& module);

}  // namespace spirv_plugin
