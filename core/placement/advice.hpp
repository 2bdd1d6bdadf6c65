// SPDX-License-Identifier: Apache-2.0
// core/placement: what would help nodes that nobody asked takes. Private to the room.
#pragma once

#include "core/placement/capability.hpp"

namespace optima::detail {

/// Devices that are no candidates: those that only wishes name, and, asked after the fact, of every plugin, those that want to be named too, the kinds that are on this
/// machine and the slots that are candidates with other plugins. Makes a question of its own for the whole graph.
class Advice {
 public:
  Advice(const Graph& graph, const Candidates& candidates, const Capability& capability, const PlacementRequest& request);

  /// Names of devices that would take the node.
  std::vector<std::string> takers(uint32_t node) const;
  /// "; X would take it (--device A,X)" for the first of `refused`, which no candidate takes: the device that takes most of them. Empty
  /// when there is none.
  std::string device_for(const std::vector<uint32_t>& refused) const;

 private:
  struct Offer {
    std::string name;  // as a user types it
    bool only_when_named = false;
    std::vector<uint8_t> takes;  // by node
  };
  void add_named(const Capability& capability);
  void ask_others();
  std::string option_for(const Offer& offer, const std::vector<uint32_t>& refused) const;

  const Graph& graph_;
  const Candidates& candidates_;
  const PlacementRequest& request_;
  std::vector<Offer> offers_;
};

/// "; fixed sizes would help: --dim batch=N, --shape x=N,3,N,N", the model's inputs as they are; empty when their sizes are known.
std::string sizes_wanted(const Graph& graph, const PlacementRequest& request);

}  // namespace optima::detail
