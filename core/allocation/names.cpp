// SPDX-License-Identifier: Apache-2.0
#include "core/allocation/names.hpp"

#include <set>

#include "core/support/text.hpp"

namespace optima::detail {

NodeNames::NodeNames(const Graph& graph) : graph_(graph) {
  for (const image::Graph& g : graph.contents.graphs)
    for (const image::Node& node : g.nodes) nodes_.push_back({node.name, node.op_type, node.id, {}});
  for (const Folded& folded : graph.folded) nodes_.push_back({folded.name, folded.op_type, OPTIMA_NONE, folded.reason});
  for (size_t i = 0; i < nodes_.size(); ++i) by_name_.try_emplace(nodes_[i].name, i);
}

const NamedNode* NodeNames::find(std::string_view name) const {
  const auto it = by_name_.find(name);
  return it == by_name_.end() ? nullptr : &nodes_[it->second];
}

std::string NodeNames::absence(std::string_view name) const {
  constexpr size_t kMostShown = 3;
  std::vector<std::string> sharing;
  size_t count = 0;
  for (const NamedNode& node : nodes_)
    if (node.id < graph_.origins.size() && graph_.origins[node.id].name == name && ++count <= kMostShown) sharing.push_back(quote(node.name));
  if (count > 1)
    return cat("node name ", quote(name), " is shared by ", count, " nodes of the model, called ", join(sharing), count > kMostShown ? ", ..." : "",
               " here");
  if (count == 1) return cat("node ", quote(name), " is called ", sharing[0], " here");
  std::vector<std::string> names;
  for (const NamedNode& node : nodes_) names.emplace_back(node.name);
  return cat("no node ", quote(name), " in the model", nearest_hint(name, names));
}

std::string NodeNames::nearest_glob(std::string_view glob) const {
  std::set<std::string> known;
  for (const NamedNode& node : nodes_) {
    known.emplace(node.name);
    for (size_t at = node.name.find('/', 1); at != std::string_view::npos; at = node.name.find('/', at + 1))
      known.insert(cat(node.name.substr(0, at + 1), "*"));
  }
  return nearest_hint(glob, std::vector<std::string>(known.begin(), known.end()));
}

std::string NodeNames::nearest_op(std::string_view key, std::span<const std::string> operators) const {
  std::set<std::string> known;
  for (const NamedNode& node : nodes_) known.insert(cat("op:", node.op_type));
  for (const std::string& op : operators) known.insert("op:" + op);
  return nearest_hint(key, std::vector<std::string>(known.begin(), known.end()));
}

}  // namespace optima::detail
