// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/fit: what follows from the sizes of a graph's inputs: dims of every value, and elements of small ones (shape arithmetic).
#pragma once

#include <cstdint>
#include <vector>

#include "reference/shapes.hpp"

namespace optima::llvm_cpu {

/// What no sizes change: the rules of graph 0's nodes.
class WalkRules {
 public:
  explicit WalkRules(const optima_graph& graph);
  const optima_graph& graph() const { return graph_; }
  uint32_t first_node() const { return entry_.nodes.first; }
  uint32_t node_count() const { return entry_.nodes.count; }
  uint32_t first_value() const { return entry_.values.first; }
  uint32_t value_count() const { return entry_.values.count; }
  const optima_node& node(uint32_t n) const { return *optima_get_node(graph_.image, first_node() + n); }
  const reference::Rule* rule(uint32_t n) const { return rules_[n]; }
  /// What a constant value holds; without data where its bytes are not there.
  reference::Tensor constant(uint32_t value) const;

 private:
  const optima_graph& graph_;
  const optima_image_graph& entry_;
  std::vector<const reference::Rule*> rules_;
};

/// Nodes and values by number in graph 0. A copy goes on by itself from where the original was.
class Walk {
 public:
  /// The rules outlive it.
  explicit Walk(const WalkRules& rules);

  /// A value that is known from outside: dims, and elements where `t` has them. Replaces what was known.
  void give(uint32_t value, reference::Tensor t);
  /// As far as it goes. Throws Error with node and sentence where sizes contradict each other.
  void go();

  const reference::Tensor& known(uint32_t value) const { return known_[value]; }
  /// The dims of all outputs of a node are known.
  bool is_done(uint32_t node) const { return done_[node]; }
  /// A node of known inputs that cannot go on: for want of the elements of a value, or, with OPTIMA_NONE, because only running it tells.
  struct Stop {
    uint32_t node, wants;
  };
  const std::vector<Stop>& stops() const { return stops_; }

 private:
  bool step(uint32_t node);
  void fold(uint32_t node, const std::vector<reference::Tensor>& inputs);

  const WalkRules* rules_;
  std::vector<reference::Tensor> known_;
  std::vector<bool> done_;
  std::vector<Stop> stops_;
};

}  // namespace optima::llvm_cpu
