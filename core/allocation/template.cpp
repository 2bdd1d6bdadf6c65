// SPDX-License-Identifier: Apache-2.0
#include "core/support/json_value.hpp"

#include "core/allocation/allocation.hpp"
#include "core/allocation/names.hpp"

namespace optima {

std::string allocation_text(const std::vector<std::pair<std::string, std::string>>& node_to_device) {
  Json out = Json::object();
  for (const auto& [name, device] : node_to_device) append_member(out, name, wish_value(device));
  return to_text(out);
}

Result<std::string> allocation_template(const Graph& graph, const std::string& device) {
  if (device != "auto") OPTIMA_RETURN_IF_ERROR(parse_device(device).status());
  const detail::NodeNames names(graph);
  std::vector<std::pair<std::string, std::string>> entries;
  for (const detail::NamedNode& node : names.nodes()) entries.emplace_back(node.name, device);
  return allocation_text(entries);
}

}  // namespace optima
