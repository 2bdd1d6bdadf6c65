// SPDX-License-Identifier: Apache-2.0
#include "pipeline_cache.hpp"

#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "optima/plugin/checksum.hpp"
#include "optima/plugin/folder.hpp"

namespace spirv_plugin {

PipelineCacheFile::PipelineCacheFile(const std::string& folder, const GpuInfo& gpu) : vendor_(gpu.vendor), device_(gpu.device), uuid_(gpu.cache_uuid) {
  if (folder.empty()) return;
  std::string key = std::to_string(gpu.vendor) + "-" + std::to_string(gpu.device) + "-" + std::to_string(gpu.driver_version) + "-";
  key += sdk::sum_text(sdk::checksum_of({reinterpret_cast<const char*>(uuid_.data()), uuid_.size()}).value());
  path_ = folder + "/spirv-pipelines-" + key;
}

bool PipelineCacheFile::fits(const std::string& bytes) const {
  VkPipelineCacheHeaderVersionOne header{};
  if (bytes.size() < sizeof header) return false;
  std::memcpy(&header, bytes.data(), sizeof header);
  return header.headerSize >= sizeof header && header.headerSize <= bytes.size() && header.headerVersion == VK_PIPELINE_CACHE_HEADER_VERSION_ONE && header.vendorID == vendor_ &&
         header.deviceID == device_ && std::memcmp(header.pipelineCacheUUID, uuid_.data(), uuid_.size()) == 0;
}

VkPipelineCache PipelineCacheFile::open(const Gpu& gpu) const {
  std::string bytes;
  std::error_code ignored;
  if (!path_.empty() && std::filesystem::is_regular_file(path_, ignored)) try {
      bytes = sdk::bytes_of(path_);
    } catch (const sdk::Error&) {
    }
  if (!fits(bytes)) bytes.clear();
  VkPipelineCacheCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO, info.initialDataSize = bytes.size(), info.pInitialData = bytes.data();
  VkPipelineCache cache = VK_NULL_HANDLE;
  gpu.require(gpu.f().vkCreatePipelineCache(gpu.device(), &info, nullptr, &cache), "making a pipeline cache");
  return cache;
}

void PipelineCacheFile::save(const Gpu& gpu, VkPipelineCache cache) const {
  if (path_.empty()) return;
  size_t size = 0;
  if (gpu.f().vkGetPipelineCacheData(gpu.device(), cache, &size, nullptr) != VK_SUCCESS) return;
  std::string bytes(size, '\0');
  if (gpu.f().vkGetPipelineCacheData(gpu.device(), cache, &size, bytes.data()) != VK_SUCCESS) return;
  bytes.resize(size);
  const std::string fresh = path_ + "." + std::to_string(::getpid());
  std::error_code ignored;
  try {
    sdk::write_file(fresh, bytes);
    std::filesystem::rename(fresh, path_, ignored);
  } catch (const sdk::Error&) {
  }
  std::filesystem::remove(fresh, ignored);
}

}  // namespace spirv_plugin
