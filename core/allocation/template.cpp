// SPDX-License-Identifier: Apache-2.0
#include "core/support/json_value.hpp"

#include "core/allocation/allocation.hpp"
#include "core/allocation/names.hpp"

namespace optima {

std::string allocation_text(const std::vector<AllocationLine>& lines) {
  Json out = Json::object();
  for (const AllocationLine& line : lines) {
    Json device = wish_value(line.device);
    append_member(out, line.name, line.precision.empty() ? std::move(device) : Json{{"device", std::move(device)}, {"precision", line.precision}});
  }
  return to_text(out);
}

Result<std::string> allocation_template(const Graph& graph, const std::string& device) {
  if (device != "auto") OPTIMA_RETURN_IF_ERROR(parse_device(device).status());
  const detail::NodeNames names(graph);
  std::vector<AllocationLine> lines;
  for (const detail::NamedNode& node : names.nodes()) lines.push_back({std::string(node.name), device});
  return allocation_text(lines);
}

}  // namespace optima
