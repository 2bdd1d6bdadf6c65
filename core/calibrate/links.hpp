// SPDX-License-Identifier: Apache-2.0
// core/calibrate: measures what moving tensors between the devices of this machine takes.
#pragma once

#include <atomic>
#include <span>
#include <string>
#include <vector>

#include "core/backend/backend.hpp"
#include "core/backend/plugin_file.hpp"
#include "core/config/config.hpp"

namespace optima {

/// A device that is here and the plugin that runs it. The plugin is borrowed.
struct LocalDevice {
  DeviceName name;       ///< with its plugin
  Backend* plugin = nullptr;
  uint32_t ordinal = 0;  ///< as the plugin numbers it
};

/// Devices that runtimes report on this machine, in their order; of those, the ones named in `wanted` (an empty plugin fits every
/// plugin). InvalidInput when a name of `wanted` fits none, or none is here; `notes` gets the reasons of plugins that have none.
Result<std::vector<LocalDevice>> local_devices(std::span<Backend* const> runtimes, std::span<const PluginFile> files, const std::vector<DeviceName>& wanted,
                                               std::vector<std::string>& notes);

struct MeasuredLink {
  LinkConfig link;
  bool handed_over = false;   ///< both keep tensors in host memory: a tensor changes hands by its address, nothing moves
  size_t sizes = 0;           ///< sizes that were measured
};

/// Latency and bandwidth from one device's memory to another's (optima.memory/1): the fastest of several copies of each of 4 KiB to
/// 16 MiB, and the line through them with the least sum of squared relative errors. Plugin error when a plugin fails; Cancelled.
Result<MeasuredLink> measure_link(const LocalDevice& from, const LocalDevice& to, const std::atomic<bool>* cancelled = nullptr);

}  // namespace optima
