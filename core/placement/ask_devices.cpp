// SPDX-License-Identifier: Apache-2.0
#include "core/placement/ask_devices.hpp"

#include "core/placement/capability.hpp"

namespace optima {

Result<AskedDevices> ask_devices(const Graph& graph, const PlacementRequest& request) {
  if (!request.answers) {
    PlacementRequest keeping = request;
    keeping.answers = std::make_shared<PluginAnswers>();
    return ask_devices(graph, keeping);
  }
  OPTIMA_ASSIGN(detail::Candidates candidates, detail::find_candidates(graph, request));
  OPTIMA_ASSIGN(detail::Capability capability, detail::ask_all(graph, pack(graph), candidates, request));
  return AskedDevices{std::move(candidates.devices), std::move(capability.answers)};
}

AskedDevices answers_of(const Plan& plan) {
  AskedDevices out{plan.devices, {}};
  for (const PlacedNode& node : plan.nodes) out.answers.push_back(node.answers);
  return out;
}

}  // namespace optima
