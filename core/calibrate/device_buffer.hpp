// SPDX-License-Identifier: Apache-2.0
// core/calibrate: memory as a backend gives it out, and copies between backends. For measuring; the run loop hands over host memory.
#pragma once

#include <memory>

#include "core/backend/backend.hpp"

namespace optima {

/// A buffer of zeros where the plugin wants its tensors: in its device's memory when it offers optima.memory/1, else in host memory.
/// Freed on destruction. The plugin must outlive it.
class DeviceBuffer {
 public:
  /// `ordinal`: of the device as the plugin numbers it. Plugin error with the plugin's sentence when it gives no memory.
  static Result<DeviceBuffer> make(Backend& plugin, uint32_t ordinal, uint64_t bytes);
  DeviceBuffer(DeviceBuffer&&) noexcept;
  DeviceBuffer& operator=(DeviceBuffer&&) noexcept;
  ~DeviceBuffer();

  /// Whether the plugin offers optima.memory/1.
  static bool has_own_memory(Backend& plugin);
  /// Copies all bytes into a buffer of the same size, by the receiver's plugin if it can import this memory, else over host memory.
  /// When both are host memory there is nothing to do: a tensor is handed over by its address.
  Status copy_to(DeviceBuffer& to);

 private:
  struct State;
  std::unique_ptr<State> state_;
  explicit DeviceBuffer(std::unique_ptr<State> state);
};

}  // namespace optima
