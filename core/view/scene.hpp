// SPDX-License-Identifier: Apache-2.0
// core/view: a plan as things to draw, laid out. Private to the room.
#pragma once

#include <vector>

#include "core/placement/plan.hpp"
#include "core/view/layout.hpp"

namespace optima::view {

struct Scene {
  enum class Kind : uint32_t { Node, Cut, Input, Output };
  struct Item {
    Kind kind = Kind::Node;
    uint32_t index = 0;  ///< of Plan::nodes for Node, else of Plan::tensors
  };
  struct Line {
    uint32_t from = 0, to = 0;  ///< items
    uint32_t tensor = 0;        ///< of Plan::tensors
  };
  std::vector<Item> items;
  std::vector<Line> lines;
  Layout layout;  ///< cluster 0: inputs of the model; 1 + s: subgraph s
};

/// Nodes, tensors that cross, inputs and outputs of the model (an output that crosses is a Cut). Such a tensor stands below the
/// node that makes it; who reads it in another subgraph is joined to it, who reads it in the same one to the node.
Scene make_scene(const Plan& plan);

constexpr double kNodeWidth = 168, kNodeHeight = 40, kTensorHeight = 24;

}  // namespace optima::view
