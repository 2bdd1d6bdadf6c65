// SPDX-License-Identifier: Apache-2.0
#include "device_memory.hpp"

#include <unistd.h>

#include <cstring>

#include "context.hpp"

namespace spirv_plugin {
namespace {

uint64_t key_of(const optima_tensor& t) { return t.mem_kind == OPTIMA_MEM_DEVICE ? t.opaque : reinterpret_cast<uintptr_t>(t.data); }

bool is_address(const optima_tensor& t) { return t.mem_kind == OPTIMA_MEM_HOST || t.mem_kind == OPTIMA_MEM_HOST_PINNED; }
char* address_of(const optima_tensor& t) { return static_cast<char*>(t.data) + t.offset; }

void copy_buffers(Gpu& gpu, const Buffer& from, uint64_t from_offset, const Buffer& to, uint64_t to_offset, uint64_t size) {
  if (size == 0) return;
  run_once(gpu, [&](VkCommandBuffer commands) {
    const VkBufferCopy piece{from_offset, to_offset, size};
    gpu.f().vkCmdCopyBuffer(commands, from.handle(), to.handle(), 1, &piece);
    const VkMemoryBarrier seen{VK_STRUCTURE_TYPE_MEMORY_BARRIER, nullptr, VK_ACCESS_TRANSFER_WRITE_BIT, VK_ACCESS_HOST_READ_BIT};
    gpu.f().vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &seen, 0, nullptr, 0, nullptr);
  });
}

void require_inside(uint64_t whole, const optima_tensor& t, uint64_t size) {
  if (t.offset > whole || size > whole - t.offset)
    throw sdk::Error(OPTIMA_INVALID_ARGUMENT, "copy of " + std::to_string(size) + " bytes at " + std::to_string(t.offset) + " leaves a buffer of " + std::to_string(whole));
}

const GpuInfo& numbered(const Vulkan& vulkan, uint32_t ordinal) {
  const std::vector<GpuInfo>& gpus = vulkan.gpus();
  if (ordinal >= gpus.size()) throw sdk::Error(OPTIMA_WRONG_DEVICE, "no GPU " + std::to_string(ordinal) + " is here, found " + std::to_string(gpus.size()));
  return gpus[ordinal];
}

/// Memory that the GPU can be given: from the last multiple of `alignment` before the tensor to the first one behind it.
struct Pages {
  char* data;
  uint64_t bytes, begin;  ///< begin: where in them the tensor is
};

/// Multiples within a page of the system are as much there as the tensor itself; larger ones have to be the tensor's own. Throws UNSUPPORTED.
Pages pages_of(const optima_tensor& t, uint64_t alignment) {
  const auto first = reinterpret_cast<uintptr_t>(address_of(t)), last = first + t.size;
  const uintptr_t from = first / alignment * alignment, to = (last + alignment - 1) / alignment * alignment;
  if (alignment > static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)) && (from != first || to != last))
    throw sdk::Error(OPTIMA_UNSUPPORTED, "memory at " + std::to_string(first) + " of " + std::to_string(t.size) + " bytes, wanted multiples of " + std::to_string(alignment) + " for both");
  return {address_of(t) - (first - from), to - from, first - from};
}

}  // namespace

void DeviceMemory::alloc(const std::shared_ptr<Vulkan>& vulkan, optima_tensor& tensor) {
  const bool pinned = tensor.mem_kind == OPTIMA_MEM_HOST_PINNED;
  if (!pinned && tensor.mem_kind != OPTIMA_MEM_DEVICE) throw sdk::Error(OPTIMA_UNSUPPORTED, "memory of kind " + std::to_string(tensor.mem_kind) + ", wanted DEVICE or HOST_PINNED");
  auto one = std::make_shared<Held>();
  one->vulkan = vulkan, one->gpu = vulkan->gpu(numbered(*vulkan, tensor.mem_ordinal), {});
  one->buffer = Buffer(one->gpu, pinned ? Buffer::Where::Upload : Buffer::Where::Device, tensor.size, "a tensor");
  one->size = one->buffer.size();
  if (pinned) tensor.data = one->buffer.data();
  keep(tensor, std::move(one));
}

void DeviceMemory::import(const std::shared_ptr<Vulkan>& vulkan, const optima_tensor& foreign, optima_tensor& tensor) {
  if (!is_address(foreign)) throw sdk::Error(OPTIMA_UNSUPPORTED, "memory of kind " + std::to_string(foreign.mem_kind) + " of others, wanted HOST or HOST_PINNED");
  const GpuInfo& gpu = numbered(*vulkan, tensor.mem_ordinal);
  if (gpu.import_alignment == 0) throw sdk::Error(OPTIMA_UNSUPPORTED, "driver of GPU '" + gpu.name + "' takes no memory of others (VK_EXT_external_memory_host)");
  if (!foreign.data || foreign.size == 0) throw sdk::Error(OPTIMA_INVALID_ARGUMENT, "memory to import has no bytes");
  const Pages pages = pages_of(foreign, gpu.import_alignment);
  auto one = std::make_shared<Held>();
  one->vulkan = vulkan, one->gpu = vulkan->gpu(gpu, {});
  one->buffer = Buffer(one->gpu, pages.data, pages.bytes);
  one->begin = pages.begin, one->size = foreign.size;
  tensor.mem_kind = OPTIMA_MEM_DEVICE, tensor.size = foreign.size, tensor.offset = 0;
  keep(tensor, std::move(one));
}

void DeviceMemory::keep(optima_tensor& tensor, std::shared_ptr<Held> one) {
  const std::lock_guard lock(mutex_);
  if (tensor.mem_kind == OPTIMA_MEM_DEVICE) tensor.opaque = reinterpret_cast<uintptr_t>(one.get());
  all_.emplace(key_of(tensor), std::move(one));
}

void DeviceMemory::release(const optima_tensor& tensor) {
  std::shared_ptr<Held> last;  // freed outside of the lock
  const std::lock_guard lock(mutex_);
  if (const auto at = all_.find(key_of(tensor)); at != all_.end()) last = std::move(at->second), all_.erase(at);
}

std::shared_ptr<DeviceMemory::Held> DeviceMemory::held(const optima_tensor& tensor) {
  const std::lock_guard lock(mutex_);
  const auto at = all_.find(key_of(tensor));
  if (tensor.mem_kind != OPTIMA_MEM_DEVICE || at == all_.end()) throw sdk::Error(OPTIMA_INVALID_ARGUMENT, "tensor lies in memory that is none of this plugin's");
  return at->second;
}

void DeviceMemory::copy(const optima_tensor& from, const optima_tensor& to) {
  const uint64_t size = std::min(from.size, to.size);
  if (is_address(from) && is_address(to)) {
    std::memmove(address_of(to), address_of(from), size);
    return;
  }
  const std::shared_ptr<Held> source = is_address(from) ? nullptr : held(from), target = is_address(to) ? nullptr : held(to);
  if (source) require_inside(source->size, from, size);
  if (target) require_inside(target->size, to, size);
  const uint64_t read_at = from.offset + (source ? source->begin : 0), write_at = to.offset + (target ? target->begin : 0);
  if (source && target) {
    if (source->gpu == target->gpu) return copy_buffers(*source->gpu, source->buffer, read_at, target->buffer, write_at, size);
    throw sdk::Error(OPTIMA_UNSUPPORTED, "copy between two GPUs, wanted one through the processor's memory");
  }
  const Held& gpu_side = source ? *source : *target;
  if (char* seen = gpu_side.buffer.data()) {
    if (source) std::memcpy(address_of(to), seen + read_at, size);
    else std::memcpy(seen + write_at, address_of(from), size);
    return;
  }
  const Buffer between(gpu_side.gpu, source ? Buffer::Where::Download : Buffer::Where::Upload, size, "a copy");
  if (!source) std::memcpy(between.data(), address_of(from), size);
  if (source) copy_buffers(*gpu_side.gpu, source->buffer, read_at, between, 0, size);
  else copy_buffers(*gpu_side.gpu, between, 0, target->buffer, write_at, size);
  if (source) std::memcpy(address_of(to), between.data(), size);
}

}  // namespace spirv_plugin
