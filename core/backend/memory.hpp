// SPDX-License-Identifier: Apache-2.0
// core/backend: memory as a backend gives it out.
#pragma once

#include <cstdint>
#include <memory>

#include "core/support/status.hpp"
#include "optima/abi.h"

namespace optima {

/// Memory that a backend gave out, or memory of others as it sees it; given back on destruction. The backend must outlive it.
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  /// Where it lies: U8, `size` as it was asked for. Lives as long as this.
  const optima_tensor& tensor() const { return tensor_; }

 protected:
  DeviceMemory() = default;
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  optima_tensor tensor_{};
};

/// optima.memory/1. Any thread. Plugin error with the plugin's sentence where it gives or takes none.
class DeviceAllocator {
 public:
  virtual ~DeviceAllocator() = default;
  /// `ordinal`: of the device as the backend numbers it; `alignment` in bytes, a power of two.
  virtual Result<std::unique_ptr<DeviceMemory>> allocate(uint32_t ordinal, uint64_t bytes, uint32_t alignment) = 0;
  /// Foreign memory as this backend sees it; the foreign one must outlive it.
  virtual Result<std::unique_ptr<DeviceMemory>> import(const optima_tensor& foreign) = 0;
  /// As many bytes as both have; one of the two may be host memory.
  virtual Status copy(const optima_tensor& from, const optima_tensor& to) = 0;
};

}  // namespace optima
