// SPDX-License-Identifier: Apache-2.0
// core/placement: what each candidate says of each node, asked once for the whole graph. Private to the room.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/placement/candidates.hpp"

namespace optima::detail {

/// Nodes that a plugin takes only all together.
struct Group {
  uint32_t device = 0;
  std::vector<uint32_t> nodes;  ///< main graph node indices, ascending
};

/// Which nodes the host drives, and what binds a node with bodies that goes whole to a device.
struct HostDriven {
  /// Of a node with bodies: devices that its wish and those of its bodies' nodes leave for it as a whole (none where they give it to the
  /// host), and the wish that says so first.
  struct Whole {
    uint64_t limit = 0;
    const Wish* wish = nullptr;  ///< null = nothing
  };
  std::map<uint32_t, Whole> whole;           ///< by main graph node; nodes with bodies only
  std::map<uint32_t, std::string> why;       ///< by main graph node: why the host drives it
  std::map<uint32_t, std::string> why_not;   ///< by main graph node: why it does not drive one that no device takes
  uint32_t device = OPTIMA_NONE;             ///< the host's place among the devices; OPTIMA_NONE when it drives nothing

  bool drives(uint32_t node) const { return why.count(node) != 0; }
};

struct Capability {
  std::vector<std::vector<DeviceAnswer>> answers;  ///< by main graph node, then device
  std::vector<uint64_t> yes, avoid;                ///< by node: devices that take it; those that would rather not
  std::vector<Group> groups;                       ///< by device, then first node; no node twice for one device
  std::vector<std::string> notes;
  HostDriven host;

  /// Turns a yes into a no with a sentence of ours.
  void refuse(uint32_t node, uint32_t device, std::string_view reason, std::string text);
};

/// Asks each plugin's note, then check() in one batch per device. A plugin that breaks check()'s contract only hurts itself:
/// missing verdicts are refusals, verdicts for nodes not asked are ignored, of two the first counts. A check() that fails
/// altogether is a refusal of every node with the failure as reason. What a plugin refused while compiling it does not take, whatever it
/// says. Cancelled is passed on.
Result<Capability> ask_all(const Graph& graph, const PackedGraph& packed, const Candidates& candidates, const PlacementRequest& request);

}  // namespace optima::detail
