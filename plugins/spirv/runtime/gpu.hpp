// SPDX-License-Identifier: Apache-2.0
// plugins/spirv/runtime: the GPUs that Vulkan knows of here, and one of them in use. Vulkan's loader is opened when first asked for.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "optima/plugin/plugin.hpp"
#include "plan/limits.hpp"
#include "plan/quirks.hpp"

#define VK_NO_PROTOTYPES
#include <volk.h>

namespace spirv_plugin {

/// Throws what a result of Vulkan means: MEMORY, DEVICE (with DEVICE_LOST where it is). `what` was tried.
void require(VkResult result, const std::string& what);

/// A GPU, or a driver that computes on the processor.
struct GpuInfo {
  VkPhysicalDevice handle = VK_NULL_HANDLE;
  std::string name, uuid, driver, kind;  ///< kind: by its vendor, VULKAN for others
  bool is_software = false;
  bool is_unified = false;               ///< its memory is the processor's
  uint64_t memory = 0;                   ///< bytes of its own
  uint64_t import_alignment = 0;         ///< addresses of the processor's memory that it can be given lie at multiples of it; 0: it takes none
  uint32_t vendor = 0, device = 0, driver_id = 0, driver_version = 0;
  std::array<uint8_t, 16> cache_uuid{};
  Limits limits;
  Quirks quirks;                         ///< what of it is not used; empty in what Vulkan::gpus() lists
};

class Gpu;

/// The loader and an instance. Destroyed after all that came from it.
class Vulkan {
 public:
  /// Throws DEPENDENCY where there is no loader, DEVICE where it makes no instance.
  static std::shared_ptr<Vulkan> open();
  ~Vulkan();
  Vulkan(const Vulkan&) = delete;
  /// Real ones first, in the loader's order.
  const std::vector<GpuInfo>& gpus() const { return gpus_; }
  /// One of them in use, with the features: one for all programs that want the same of it, until it is lost. Any thread.
  std::shared_ptr<Gpu> gpu(const GpuInfo& info, const std::set<std::string>& features);

 private:
  Vulkan() = default;
  VkInstance instance_ = VK_NULL_HANDLE;
  std::vector<GpuInfo> gpus_;
  std::mutex mutex_;
  std::map<std::pair<VkPhysicalDevice, std::set<std::string>>, std::shared_ptr<Gpu>> open_;
};

/// A logical device with the features that were asked for. Whoever holds one holds its Vulkan, too.
class Gpu {
 public:
  /// `features`: by Vulkan's names, of those the GPU has.
  Gpu(const GpuInfo& info, const std::set<std::string>& features);
  ~Gpu();
  Gpu(const Gpu&) = delete;

  const GpuInfo& info() const { return info_; }
  VkDevice device() const { return device_; }
  const VolkDeviceTable& f() const { return f_; }
  uint32_t family() const { return family_; }
  /// require(), which also remembers that the device is lost: Vulkan::gpu() then gives another one to who asks next. Any thread.
  void require(VkResult result, const std::string& what) const;
  bool is_lost() const { return is_lost_; }
  /// Whether its queues write times.
  bool has_clock() const { return has_clock_; }
  /// Queues are dealt out in turn; each is used under its lock.
  struct Queue {
    VkQueue handle = VK_NULL_HANDLE;
    std::mutex mutex;
  };
  Queue& next_queue() { return *queues_[turn_++ % queues_.size()]; }
  /// The memory type of `bits` that has all of `wanted`, and of those one that has `better`; nothing when none has.
  std::optional<uint32_t> memory_type(uint32_t bits, VkMemoryPropertyFlags wanted, VkMemoryPropertyFlags better) const;

 private:
  GpuInfo info_;
  VkDevice device_ = VK_NULL_HANDLE;
  VolkDeviceTable f_{};
  VkPhysicalDeviceMemoryProperties memory_{};
  uint32_t family_ = 0;
  bool has_clock_ = false;
  std::vector<std::unique_ptr<Queue>> queues_;
  std::atomic<uint32_t> turn_{0};
  mutable std::atomic<bool> is_lost_{false};
};

/// A buffer with memory of its own, or over memory of others.
class Buffer {
 public:
  enum class Where {
    Device,  ///< the GPU's own; the processor sees it where memory is unified
    Upload,  ///< the processor's, which the GPU reads
    Download ///< the processor's, which it reads fast and the GPU writes
  };
  Buffer() = default;
  /// `what` names it in errors. Throws MEMORY with the numbers.
  Buffer(std::shared_ptr<Gpu> gpu, Where where, uint64_t bytes, const std::string& what);
  /// Over `bytes` of the processor's memory, which outlives it: both are multiples of import_alignment, which is not 0. Throws MEMORY, UNSUPPORTED.
  /// Source of the method: VK_EXT_external_memory_host.
  Buffer(std::shared_ptr<Gpu> gpu, void* memory, uint64_t bytes);
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Buffer();
  VkBuffer handle() const { return buffer_; }
  uint64_t size() const { return size_; }
  /// Null where the processor does not see it.
  char* data() const { return data_; }

 private:
  void swap(Buffer& other) noexcept;
  /// What the buffer asks of its memory. `next`: what extends its description, or null.
  VkMemoryRequirements make(const void* next, const std::string& asked);
  void take(const VkMemoryAllocateInfo& memory, const std::string& asked);
  std::shared_ptr<Gpu> gpu_;
  VkBuffer buffer_ = VK_NULL_HANDLE;
  VkDeviceMemory memory_ = VK_NULL_HANDLE;
  uint64_t size_ = 0;
  char* data_ = nullptr;
};

/// The GPUs here as the host is told of them, numbered by kind; with `software`, drivers on the processor too, which must not win over plugins made
/// for processors: nobody gets them who does not name them. With none, `why_none` is the sentence.
std::vector<sdk::PresentDevice> present(const std::function<std::shared_ptr<Vulkan>()>& open, bool software, std::string& why_none);

}  // namespace spirv_plugin
