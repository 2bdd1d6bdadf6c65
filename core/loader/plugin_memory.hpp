// SPDX-License-Identifier: Apache-2.0
// core/loader: a plugin's optima.memory/1 as the allocator of a backend.
#pragma once

#include <string>

#include "core/backend/memory.hpp"
#include "optima/ext/memory.h"

namespace optima {

class PluginMemory final : public DeviceAllocator {
 public:
  /// `instance` must outlive this and all that it gives out.
  PluginMemory(std::string plugin, const optima_memory& table, optima_plugin* instance) : plugin_(std::move(plugin)), table_(table), instance_(instance) {}
  /// Whether the table has what an allocator needs.
  static bool is_whole(const optima_memory& table) { return table.alloc && table.free && table.copy; }

  Result<std::unique_ptr<DeviceMemory>> allocate(uint32_t ordinal, uint64_t bytes, uint32_t alignment) override;
  Result<std::unique_ptr<DeviceMemory>> import(const optima_tensor& foreign) override;
  Status copy(const optima_tensor& from, const optima_tensor& to) override;

 private:
  class Held;
  const std::string plugin_;
  const optima_memory table_;
  optima_plugin* const instance_;
};

}  // namespace optima
