// SPDX-License-Identifier: Apache-2.0
// core/placement: from names of devices to plugins that serve them. Private to the room.
#pragma once

#include <vector>

#include "core/placement/placement.hpp"

namespace optima::detail {

/// The devices of a plan with their plugins, and what each wish means in terms of them.
struct Candidates {
  std::vector<PlanDevice> devices;
  std::vector<Backend*> plugins;  ///< by device; null for the host
  uint64_t free = 0;             ///< devices for nodes without a wish
  uint64_t found = 0;            ///< of those, what is on this machine and nobody named
  std::optional<Wish> required;  ///< --require-device, as the wish of every node
  std::vector<std::string> notes;

  /// What the note of the device's plugin limits; the host limits nothing.
  const Limits& limits(size_t device) const;
  /// The device that a name (of a wish or of the request) stands for. The name must have been resolved before.
  uint32_t index_of(const DeviceName& name) const;
  /// Devices of a wish of which the first that can is meant, in its order; empty for a pin, or none.
  std::vector<uint32_t> listed(const Wish* wish) const;
  /// The device of a full name; OPTIMA_NONE when it is not among them.
  uint32_t find(const DeviceName& full_name) const;
  std::vector<std::pair<DeviceName, uint32_t>> resolved;  ///< few; in order of first mention
};

/// InvalidInput for names that nothing serves, Plugin when a refused file would have, or when there is no plugin at all.
Result<Candidates> find_candidates(const Graph& graph, const PlacementRequest& request);

}  // namespace optima::detail
