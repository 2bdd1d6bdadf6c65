// SPDX-License-Identifier: Apache-2.0
// core/view: where everything of a picture goes, on bare numbers. Knows no plan and no colours.
#pragma once

#include <cstdint>
#include <vector>

namespace optima::view {

struct Point {
  double x = 0, y = 0;
};

/// What is to be laid out. Items come in a topological order (every edge goes to a later item) and clusters in run order; an
/// edge never goes to an earlier cluster.
struct LayoutProblem {
  struct Item {
    uint32_t cluster = 0;
    double width = 0, height = 0;  ///< pixels
  };
  struct Edge {
    uint32_t from = 0, to = 0;  ///< items
  };
  std::vector<Item> items;
  std::vector<Edge> edges;
  uint32_t clusters = 0;
};

/// A rectangle around the items of one cluster, or of a part of it when the cluster goes on in the next column.
struct Piece {
  uint32_t cluster = 0;
  bool first = true;  ///< of its cluster
  double x = 0, y = 0, width = 0, height = 0;
};

/// Pixels, y downwards, from 0.
struct Layout {
  std::vector<Point> centre;              ///< by item
  std::vector<Piece> pieces;              ///< in run order
  std::vector<std::vector<Point>> bends;  ///< by edge: points on the way, from its source to its target; often none
  double width = 0, height = 0;
};

/// Layers inside each cluster, clusters below each other in run order, columns like those of a newspaper so that the whole is
/// about as wide as a screen. Items and pieces never overlap. Time: near-linear in items + edges + bends; long edges get at most
/// kLongestRoute bends. Deterministic.
///
/// Method: the layered drawing of K. Sugiyama, S. Tagawa, M. Toda, "Methods for visual understanding of hierarchical system
/// structures", IEEE Trans. SMC 11 (1981): layers by longest path, bends for edges over several layers, barycentre sweeps for the
/// order in a layer. Items are pulled down where that makes no edge sum longer, as E. Gansner et al. do in "A technique for drawing
/// directed graphs", IEEE TSE 19 (1993). Places in a layer are the least-squares ones that keep order and distance, by pooling
/// adjacent violators (M. Ayer et al., Ann. Math. Statist. 26, 1955).
Layout lay_out(const LayoutProblem& problem);

constexpr uint32_t kLongestRoute = 12;  ///< layers; longer edges are drawn straight behind everything
constexpr double kTitleHeight = 30;     ///< room for a title above the items of a piece
constexpr double kPadding = 14;         ///< between a piece's border and its items

}  // namespace optima::view
