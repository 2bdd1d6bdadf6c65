// SPDX-License-Identifier: Apache-2.0
// core/placement: minimum cuts between a source and a sink. The only file of the project that uses Boost.Graph is min_cut.cpp.
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

  uint32_t add_node() { return nodes_++; }
  /// Paid when `from` ends on the source's side and `to` on the sink's. Arcs into the source or out of the sink cost nothing.
  void arc(uint32_t from, uint32_t to, double cost);

  /// By node: true = on the source's side. Among the cheapest cuts, the one with the fewest nodes there.
  std::vector<uint8_t> source_side() const;

 private:
  struct Arc {
    uint32_t from, to;
    double cost;
  };
  uint32_t nodes_ = 2;
  double sum_ = 0;
  std::vector<Arc> arcs_;
};

}  // namespace optima::detail
