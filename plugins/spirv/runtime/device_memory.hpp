// SPDX-License-Identifier: Apache-2.0
// plugins/spirv/runtime: memory of GPUs for the host (optima.memory/1), which measures with it what copies cost.
#pragma once

#include "gpu.hpp"
#include "optima/plugin/plugin.hpp"

namespace spirv_plugin {

/// Buffers by handle. Any thread.
class DeviceMemory {
 public:
  /// `gpus`: those of `vulkan` in its order; a tensor's mem_ordinal is the number of one. DEVICE memory gets a handle, HOST_PINNED an address that
  /// the GPU reads. Throws MEMORY with the numbers, UNSUPPORTED for other kinds, WRONG_DEVICE for a number past the last.
  void alloc(const std::shared_ptr<Vulkan>& vulkan, optima_tensor& tensor);
  /// DEVICE memory that is the processor's memory of `foreign`, which outlives it: copies from and to it are the GPU's own. The tensor's mem_ordinal is
  /// the number of the GPU. Throws UNSUPPORTED for memory of other kinds and where the GPU or its driver takes none, WRONG_DEVICE, MEMORY.
  void import(const std::shared_ptr<Vulkan>& vulkan, const optima_tensor& foreign, optima_tensor& tensor);
  void release(const optima_tensor& tensor);
  /// Between this memory and itself or the processor's; returns when it is done. Throws INVALID_ARGUMENT for a handle that alloc() did not give.
  void copy(const optima_tensor& from, const optima_tensor& to);

 private:
  struct Held {
    std::shared_ptr<Vulkan> vulkan;  // before what comes from it
    std::shared_ptr<Gpu> gpu;
    Buffer buffer;
    uint64_t begin = 0, size = 0;  // bytes of the buffer that are the tensor's
  };
  void keep(optima_tensor& tensor, std::shared_ptr<Held> one);
  std::shared_ptr<Held> held(const optima_tensor& tensor);
  std::mutex mutex_;
  std::map<uint64_t, std::shared_ptr<Held>> all_;  // by handle, from 1 on; of HOST_PINNED memory the address
};

}  // namespace spirv_plugin
