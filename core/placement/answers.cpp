// SPDX-License-Identifier: Apache-2.0
#include "core/placement/answers.hpp"

namespace optima {

Result<std::vector<DeviceInfo>> PluginAnswers::devices(Backend& plugin, std::string* why_none) {
  auto at = devices_.find(&plugin);
  if (at == devices_.end()) {
    std::string why;
    Result<std::vector<DeviceInfo>> found = plugin.devices(&why);
    at = devices_.emplace(&plugin, Listed{std::move(found), std::move(why)}).first;
  }
  if (why_none) *why_none = at->second.why_none;
  return at->second.devices;
}

Result<Answers> PluginAnswers::ask(Backend& plugin, const std::string& device, const TargetDevice& target,
                                                  const optima_graph& graph, const std::vector<uint32_t>& nodes) {
  const auto question = std::pair(device, nodes);
  if (const auto known = verdicts_.find(question); known != verdicts_.end()) return known->second;
  Result<Answers> said = plugin.ask(graph, nodes, target);
  if (said.status().kind() == StatusKind::Cancelled) return said;
  return verdicts_.emplace(question, std::move(said)).first->second;
}

Result<std::vector<NodeCost>> PluginAnswers::estimate(Backend& plugin, const std::string& device, const TargetDevice& target,
                                                      const optima_graph& graph, const std::vector<uint32_t>& nodes) {
  Estimates& known = estimates_[device];
  if (!known.failure.ok()) return known.failure;
  std::vector<uint32_t> ask;
  for (const uint32_t id : nodes)
    if (!known.by_node.count(id)) ask.push_back(id);
  if (!ask.empty()) {
    const Result<std::vector<NodeCost>> said = plugin.estimate(graph, ask, target);
    if (!said.ok()) {
      if (said.status().kind() != StatusKind::Cancelled) known.failure = said.status();
      return said.status();
    }
    for (const uint32_t id : ask) known.by_node[id].node = id;
    for (const NodeCost& cost : *said)
      if (const auto at = known.by_node.find(cost.node); at != known.by_node.end()) at->second = cost;
  }
  std::vector<NodeCost> out;
  for (const uint32_t id : nodes) out.push_back(known.by_node.at(id));
  return out;
}

}  // namespace optima
