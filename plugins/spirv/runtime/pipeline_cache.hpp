// SPDX-License-Identifier: Apache-2.0
// plugins/spirv/runtime: what a driver made of kernels before, on disk, per GPU and driver.
#pragma once

#include <string>

#include "gpu.hpp"

namespace spirv_plugin {

/// One file per vendor, device, driver version and cache UUID in the host's cache folder; without a folder nothing is kept. Read and written as a
/// whole; writing replaces the file at once, so readers see the old or the new one. Nothing here fails a load: a file that does not fit is left
/// aside, and one that cannot be written is not.
class PipelineCacheFile {
 public:
  PipelineCacheFile(const std::string& folder, const GpuInfo& gpu);
  /// A cache with what the file holds, its sum and its header checked here: drivers trust it (Vulkan, "Pipeline Cache Header").
  VkPipelineCache open(const Gpu& gpu) const;
  void save(const Gpu& gpu, VkPipelineCache cache) const;

 private:
  bool fits(std::string_view bytes) const;
  std::string path_;
  uint32_t vendor_, device_;
  std::array<uint8_t, 16> uuid_;
};

}  // namespace spirv_plugin
