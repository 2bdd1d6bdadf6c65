// SPDX-License-Identifier: Apache-2.0
// core/view: one cluster as layers of slots. Private to the room.
#pragma once

#include <cstddef>
#include <vector>

#include "core/view/layout.hpp"

namespace optima::view {

/// An item, or a point where an edge passes a layer.
struct Slot {
  static constexpr uint32_t kBend = UINT32_MAX;
  uint32_t item = kBend;
  double width = 0, height = 0;
  double x = 0;                         ///< centre, set by place()
  std::vector<uint32_t> above, below;   ///< slots of the neighbouring layers that an edge joins it to
};

/// The slots of one cluster by layer, and the route of every edge that has bends.
struct Layers {
  struct Route {
    uint32_t edge = 0;
    std::vector<uint32_t> slots;  ///< bends, downwards
  };
  std::vector<Slot> slots;
  std::vector<std::vector<uint32_t>> layers;  ///< slots from left to right
  std::vector<Route> routes;
};

/// Layers the items of a cluster (ascending) and orders each layer. `edges` are indices of problem.edges with both ends in the
/// cluster. At most kMostInLayer items share a layer.
Layers make_layers(const LayoutProblem& problem, const std::vector<uint32_t>& items, const std::vector<uint32_t>& edges);

/// Gives the slots of layers [from, to) their x, the leftmost edge at 0, and returns the width. Edges that leave the range have
/// no say.
double place(Layers& layers, size_t from, size_t to);

constexpr size_t kMostInLayer = 12;
constexpr double kSlotGap = 18;  ///< between neighbours in a layer

}  // namespace optima::view
