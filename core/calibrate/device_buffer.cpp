// SPDX-License-Identifier: Apache-2.0
#include "core/calibrate/device_buffer.hpp"

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace optima {
namespace {

constexpr uint32_t kAlignment = 64;

optima_tensor host_tensor(void* data, uint64_t bytes) {
  optima_tensor out{};
  out.struct_size = sizeof out;
  out.dtype = OPTIMA_U8;
  out.data = data;
  out.size = bytes;
  out.fd = -1;
  return out;
}

}  // namespace

struct DeviceBuffer::State {
  DeviceAllocator* allocator;             // null: host memory
  std::unique_ptr<DeviceMemory> own;
  std::unique_ptr<void, void (*)(void*)> host{nullptr, std::free};
  uint64_t bytes;
  DeviceAllocator* importer = nullptr;    // who sees this memory as `seen`
  std::unique_ptr<DeviceMemory> seen;     // given back before `own`
  std::vector<std::byte> staging;         // host memory on the way to a backend that cannot import

  State(Backend& backend, uint64_t size) : allocator(backend.memory()), bytes(size) {}

  Status make(uint32_t ordinal) {
    if (allocator) {
      OPTIMA_ASSIGN(own, allocator->allocate(ordinal, bytes, kAlignment));
      return {};
    }
    host.reset(std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment));
    if (!host) return io_error("out of memory");
    std::memset(host.get(), 0, bytes);
    return {};
  }
  optima_tensor tensor() const { return own ? own->tensor() : host_tensor(host.get(), bytes); }

  // This memory as `by` sees it; null when it cannot.
  const optima_tensor* as_seen_by(DeviceAllocator& by) {
    if (importer == &by) return &seen->tensor();
    auto imported = by.import(own->tensor());
    if (!imported.ok()) return nullptr;
    importer = &by;
    seen = std::move(*imported);
    return &seen->tensor();
  }
};

DeviceBuffer::DeviceBuffer(std::unique_ptr<State> state) : state_(std::move(state)) {}
DeviceBuffer::DeviceBuffer(DeviceBuffer&&) noexcept = default;
DeviceBuffer& DeviceBuffer::operator=(DeviceBuffer&&) noexcept = default;
DeviceBuffer::~DeviceBuffer() = default;
bool DeviceBuffer::has_own_memory(Backend& plugin) { return plugin.memory() != nullptr; }

Result<DeviceBuffer> DeviceBuffer::make(Backend& plugin, uint32_t ordinal, uint64_t bytes) {
  auto state = std::make_unique<State>(plugin, bytes);
  OPTIMA_RETURN_IF_ERROR(state->make(ordinal));
  return DeviceBuffer(std::move(state));
}

Status DeviceBuffer::copy_to(DeviceBuffer& to) {
  State &from = *state_, &target = *to.state_;
  if (!from.allocator && !target.allocator) return {};
  if (!target.allocator) return from.allocator->copy(from.tensor(), target.tensor());
  if (!from.allocator || from.allocator == target.allocator) return target.allocator->copy(from.tensor(), target.tensor());
  if (const optima_tensor* seen = from.as_seen_by(*target.allocator)) return target.allocator->copy(*seen, target.tensor());
  from.staging.resize(from.bytes);
  const optima_tensor host = host_tensor(from.staging.data(), from.bytes);
  OPTIMA_RETURN_IF_ERROR(from.allocator->copy(from.tensor(), host));
  return target.allocator->copy(host, target.tensor());
}

}  // namespace optima
