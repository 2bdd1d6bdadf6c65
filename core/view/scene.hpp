// SPDX-License-Identifier: Apache-2.0
// core/view: a plan as things to draw, laid out. Private to the room.
#pragma once

#include <vector>

#include "core/view/flat.hpp"
#include "core/view/layout.hpp"

namespace optima::view {

struct Scene {
  enum class Kind : uint32_t { Node, Cut, Input, Output, Clone };
  struct Item {
    Kind kind = Kind::Node;
    uint32_t index = 0;     ///< of the plan's nodes for Node and Clone, else of its tensors
    uint32_t subgraph = 0;  ///< of Node and Clone: where it runs
    Point centre;
  };
  struct Line {
    uint32_t from = 0, to = 0;   ///< items
    uint32_t tensor = 0;         ///< of the plan's tensors
    std::vector<Point> bends;    ///< points on the way
  };
  /// A rectangle: a subgraph or part of one, or the inputs of a graph.
  struct Box {
    static constexpr uint32_t kInputs = UINT32_MAX;
    uint32_t subgraph = kInputs, part = 0;
    Piece piece;
  };
  /// Around all of a body.
  struct Frame {
    uint32_t part = 0;
    double x = 0, y = 0, width = 0, height = 0;
  };
  std::vector<Item> items;
  std::vector<Line> lines;
  std::vector<Box> boxes;
  std::vector<Frame> frames;
  double width = 0, height = 0;
};

/// Nodes, their clones, tensors that cross, inputs and outputs (an output that crosses is a Cut). Such a tensor stands below the node
/// that makes it; who reads it in another subgraph is joined to it, who reads it in the same one to the node or its clone there. Each
/// body has a frame of its own, beside and below the main graph.
Scene make_scene(const Flat& flat);

constexpr double kNodeWidth = 168, kNodeHeight = 40, kTensorHeight = 24;

}  // namespace optima::view
