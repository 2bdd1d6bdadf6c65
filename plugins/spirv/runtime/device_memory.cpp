// SPDX-License-Identifier: Apache-2.0
#include "device_memory.hpp"

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

void require_inside(const Buffer& buffer, const optima_tensor& t, uint64_t size) {
  if (t.offset > buffer.size() || size > buffer.size() - t.offset)
    throw sdk::Error(OPTIMA_INVALID_ARGUMENT, "copy of " + std::to_string(size) + " bytes at " + std::to_string(t.offset) + " leaves a buffer of " + std::to_string(buffer.size()));
}

}  // namespace

void DeviceMemory::alloc(const std::shared_ptr<Vulkan>& vulkan, optima_tensor& tensor) {
  const bool pinned = tensor.mem_kind == OPTIMA_MEM_HOST_PINNED;
  if (!pinned && tensor.mem_kind != OPTIMA_MEM_DEVICE) throw sdk::Error(OPTIMA_UNSUPPORTED, "memory of kind " + std::to_string(tensor.mem_kind) + ", wanted DEVICE or HOST_PINNED");
  const std::vector<GpuInfo>& gpus = vulkan->gpus();
  if (tensor.mem_ordinal >= gpus.size()) throw sdk::Error(OPTIMA_WRONG_DEVICE, "no GPU " + std::to_string(tensor.mem_ordinal) + " is here, found " + std::to_string(gpus.size()));
  auto one = std::make_shared<Held>();
  one->vulkan = vulkan, one->gpu = vulkan->gpu(gpus[tensor.mem_ordinal], {});
  one->buffer = Buffer(one->gpu, pinned ? Buffer::Where::Upload : Buffer::Where::Device, tensor.size, "a tensor");
  const std::lock_guard lock(mutex_);
  if (pinned) tensor.data = one->buffer.data();
  else tensor.opaque = reinterpret_cast<uintptr_t>(one.get());
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
  if (source) require_inside(source->buffer, from, size);
  if (target) require_inside(target->buffer, to, size);
  if (source && target) {
    if (source->gpu == target->gpu) return copy_buffers(*source->gpu, source->buffer, from.offset, target->buffer, to.offset, size);
    throw sdk::Error(OPTIMA_UNSUPPORTED, "copy between two GPUs, wanted one through the processor's memory");
  }
  const Held& gpu_side = source ? *source : *target;
  if (char* seen = gpu_side.buffer.data()) {
    if (source) std::memcpy(address_of(to), seen + from.offset, size);
    else std::memcpy(seen + to.offset, address_of(from), size);
    return;
  }
  const Buffer between(gpu_side.gpu, source ? Buffer::Where::Download : Buffer::Where::Upload, size, "a copy");
  if (!source) std::memcpy(between.data(), address_of(from), size);
  if (source) copy_buffers(*gpu_side.gpu, source->buffer, from.offset, between, 0, size);
  else copy_buffers(*gpu_side.gpu, between, 0, target->buffer, to.offset, size);
  if (source) std::memcpy(address_of(to), between.data(), size);
}

}  // namespace spirv_plugin
