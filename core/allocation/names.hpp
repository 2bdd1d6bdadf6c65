// SPDX-License-Identifier: Apache-2.0
// core/allocation: the names of a source model and what they stand for. Private to the room.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/graph/graph.hpp"

namespace optima::detail {

/// A node that an allocation may name.
struct NamedNode {
  std::string_view name, op_type;
  uint32_t id = OPTIMA_NONE;       ///< node id; OPTIMA_NONE when folded away
  std::string_view folded_reason;  ///< empty when it is still there
};

/// All nodes of the source model, views into the graph, which must outlive this.
class NodeNames {
 public:
  explicit NodeNames(const Graph& graph);

  /// Main graph, bodies, folded; in model order.
  const std::vector<NamedNode>& nodes() const { return nodes_; }
  /// Null when no node has that stable name.
  const NamedNode* find(std::string_view name) const;
  /// Why `name` is nobody's: shared by several nodes of the model, or absent (nearest shown).
  std::string absence(std::string_view name) const;
  /// For the end of a message about a glob that matches nothing: " (nearest: 'encoder/*')", of names and their folders, or empty.
  std::string nearest_glob(std::string_view glob) const;
  /// The same about "op:Type", of the model's types and `operators`.
  std::string nearest_op(std::string_view key, std::span<const std::string> operators) const;

 private:
  const Graph& graph_;
  std::vector<NamedNode> nodes_;
  std::unordered_map<std::string_view, size_t> by_name_;  // looked up only
};

}  // namespace optima::detail
