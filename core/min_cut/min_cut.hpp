// SPDX-License-Identifier: Apache-2.0
// core/min_cut: minimum cuts between a source and a sink. The only file of the project that uses Boost.Graph is min_cut.cpp.
#pragma once

#include <cstdint>
#include <vector>

namespace optima::detail {

/// Collects nodes and arcs, then cuts. Costs are microseconds, finite or kNever; they are rounded to the largest power-of-two grid
/// that the sum of all allows in 64 bits, so the cut does not depend on the order of floating point sums.
class MinCut {
 public:
  static constexpr uint32_t kSource = 0, kSink = 1;
  static constexpr double kNever = -1;  ///< an arc that no cut may hold

  uint32_t add_node() { return add_node_near(nodes_); }
  /// One that is kept in memory beside another node.
  uint32_t add_node_near(uint32_t node) {
    near_.push_back(node > kSink && node < nodes_ ? near_[node - 2] : nodes_);
    return nodes_++;
  }
  /// Paid when `from` ends on the source's side and `to` on the sink's. Arcs into the source or out of the sink cost nothing.
  void arc(uint32_t from, uint32_t to, double cost);

  /// By node: true = on the source's side. Among the cheapest cuts, the one with the fewest nodes there.
  std::vector<uint8_t> source_side() const;

 private:
  struct Arc {
    uint32_t from, to;
    double cost;
  };
  std::vector<uint32_t> order() const;

  uint32_t nodes_ = 2;
  std::vector<uint32_t> near_;  // by node from the third on: the number of the node that it is kept beside, or its own
  double sum_ = 0;
  std::vector<Arc> arcs_;
};

}  // namespace optima::detail
