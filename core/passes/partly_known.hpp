// SPDX-License-Identifier: Apache-2.0
// core/passes: what is known of small integer tensors of which some elements are not: the shape of an image whose width is open.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/graph/graph.hpp"

namespace optima::passes {

/// All that an element can be, both ends included. An open size is 0 to kLargestSize, a truth value 0 to 1.
struct Bounds {
  int64_t low, high;
  bool known() const { return low == high; }
};
inline constexpr int64_t kLargestSize = INT32_MAX;

/// A tensor of integers, truth values, or floats without fractions.
struct PartlyKnown {
  std::vector<int64_t> dims;
  std::vector<Bounds> elements;  ///< row by row
};

/// Walks over the nodes of one graph, in order. Follows shapes through the operators that exporters ask sizes with (moves of elements, integer
/// arithmetic, comparisons, truth values, reductions to one element) by interval arithmetic, so an And is false where one side is.
class PartialValues {
 public:
  /// What bodies capture of values of the graphs around them, by graph and value there.
  using Captured = std::map<uint32_t, std::unordered_map<uint32_t, PartlyKnown>>;

  /// Both must outlive this; `captured` is read for graph `index` and filled for the bodies of its nodes.
  PartialValues(const Graph& graph, uint32_t index, Captured& captured);

  /// The types of the node's outputs are as far known as they can be.
  void follow(const image::Node& node);

  /// All elements of a value that follow() has met; else nullopt.
  std::optional<std::vector<int64_t>> elements(uint32_t value) const;

 private:
  using Operands = std::vector<const PartlyKnown*>;  // null: absent or not followed

  const image::Graph& here() const { return graph_.contents.graphs[index_]; }
  const PartlyKnown* find(uint32_t value);
  std::optional<PartlyKnown> constant(const image::Value& value) const;
  std::optional<std::vector<PartlyKnown>> outputs(const image::Node& node, const Operands& in) const;

  const Graph& graph_;
  const uint32_t index_;
  Captured& captured_;
  std::unordered_map<uint32_t, PartlyKnown> known_;
};

}  // namespace optima::passes
