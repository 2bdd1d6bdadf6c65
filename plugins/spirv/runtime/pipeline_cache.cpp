// SPDX-License-Identifier: Apache-2.0
#include "pipeline_cache.hpp"

#include <cstring>

#include "optima/plugin/checksum.hpp"
#include "plan/replace.hpp"

namespace spirv_plugin {
namespace {

/// A file: this, then what the driver gave. Drivers look at little more than their own header of it, and a torn file has that.
struct Wrapping {
  char magic[8];
  uint64_t bytes, sum;  ///< of what the driver gave
};
constexpr char kMagic[8] = {'O', 'p', 't', 'P', 'i', 'p', 'e', '1'};

std::string wrapped(std::string_view bytes) {
  Wrapping w{{}, bytes.size(), sdk::checksum_of(bytes).value()};
  std::memcpy(w.magic, kMagic, sizeof kMagic);
  return std::string(reinterpret_cast<const char*>(&w), sizeof w).append(bytes);
}

/// What the driver gave; empty where the file is not as it was written.
std::string_view unwrapped(std::string_view file) {
  Wrapping w;
  if (file.size() < sizeof w) return {};
  std::memcpy(&w, file.data(), sizeof w);
  const std::string_view bytes = file.substr(sizeof w);
  return std::memcmp(w.magic, kMagic, sizeof kMagic) == 0 && w.bytes == bytes.size() && w.sum == sdk::checksum_of(bytes).value() ? bytes : std::string_view();
}

}  // namespace

PipelineCacheFile::PipelineCacheFile(const std::string& folder, const GpuInfo& gpu) : vendor_(gpu.vendor), device_(gpu.device), uuid_(gpu.cache_uuid) {
  if (folder.empty()) return;
  std::string key = std::to_string(gpu.vendor) + "-" + std::to_string(gpu.device) + "-" + std::to_string(gpu.driver_version) + "-";
  key += sdk::sum_text(sdk::checksum_of({reinterpret_cast<const char*>(uuid_.data()), uuid_.size()}).value());
  path_ = folder + "/spirv-pipelines-" + key;
}

bool PipelineCacheFile::fits(std::string_view bytes) const {
  VkPipelineCacheHeaderVersionOne header{};
  if (bytes.size() < sizeof header) return false;
  std::memcpy(&header, bytes.data(), sizeof header);
  return header.headerSize >= sizeof header && header.headerSize <= bytes.size() && header.headerVersion == VK_PIPELINE_CACHE_HEADER_VERSION_ONE && header.vendorID == vendor_ &&
         header.deviceID == device_ && std::memcmp(header.pipelineCacheUUID, uuid_.data(), uuid_.size()) == 0;
}

VkPipelineCache PipelineCacheFile::open(const Gpu& gpu) const {
  const std::string file = cached_bytes(path_);
  const std::string_view bytes = unwrapped(file);
  VkPipelineCacheCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO;
  if (fits(bytes)) info.initialDataSize = bytes.size(), info.pInitialData = bytes.data();
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
  replace_file(path_, wrapped(bytes));
}

}  // namespace spirv_plugin
