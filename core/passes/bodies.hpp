// SPDX-License-Identifier: Apache-2.0
// core/passes: bodies copied into the graph around them, and new nodes and values with names that nobody has. Private to the room.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/graph/attributes.hpp"

namespace optima::passes {

/// Adds to a graph. It must outlive this, and nobody else may name its nodes and values meanwhile. What is added moves Contents::graphs: keep no references.
class Bodies {
 public:
  explicit Bodies(Graph& graph);

  image::Graph& at(uint32_t index) { return graph_.contents.graphs[index]; }
  const image::Value& value(uint32_t index, uint32_t v) { return at(index).values[v]; }

  /// A new value of graph `index`, with `name` or the next free one like it.
  uint32_t add(uint32_t index, image::Value value);
  /// One of which nothing is known but what elements it has.
  uint32_t add(uint32_t index, std::string name, int32_t dtype);
  /// A new constant of graph `index`. Each call makes one.
  uint32_t integers(uint32_t index, std::string name, std::vector<int64_t> dims, const std::vector<int64_t>& elements);
  uint32_t truth(uint32_t index, std::string name);
  /// Gives a name free: a value that has it, and is no input of the graph, has another one then.
  void free_name(uint32_t index, const std::string& name);
  /// The value of body `body` that stands for the value `v` of the graph around it, `holder`: captured, or a constant there too.
  uint32_t captured(uint32_t holder, uint32_t v, uint32_t body);

  /// A node of ONNX's own domain that stands in no graph yet.
  image::Node node(const std::string& name, std::string op, int32_t version, std::vector<uint32_t> inputs, std::vector<uint32_t> outputs, std::vector<image::Attr> attrs = {});

  /// Adds copies of the nodes of a body of a node in graph `index` to `out`, by names with `mark` behind them; `inputs` (values of that graph) are its
  /// inputs. Gives what its outputs are there.
  std::vector<uint32_t> inline_body(uint32_t index, uint32_t body, std::span<const uint32_t> inputs, const std::string& mark, std::vector<image::Node>& out);

  /// Nodes that the graph had and that were added.
  size_t nodes() const { return nodes_.size(); }
  /// Nodes in a body and in the bodies inside it.
  size_t nodes_in(uint32_t body) const;

 private:
  std::string fresh_value(uint32_t index, std::string name);
  image::Node copy(const image::Node& node, const std::string& mark);
  uint32_t copy_graph(uint32_t body, const std::string& mark);
  uint32_t constant(uint32_t index, std::string name, int32_t dtype, std::vector<int64_t> dims, Blob bytes);

  Graph& graph_;
  std::unordered_set<std::string> nodes_;
  std::unordered_map<uint32_t, std::unordered_set<std::string>> values_;  // by graph, filled when first wanted
};

}  // namespace optima::passes
