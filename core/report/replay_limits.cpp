// SPDX-License-Identifier: Apache-2.0
// The limits that a plan was made within, from what it tells of devices and nodes: as limits_of() of core/placement makes them of a graph.
#include <algorithm>
#include <set>

#include "core/report/replay.hpp"

namespace optima::detail {
namespace {

uint64_t bit(uint32_t device) { return uint64_t{1} << device; }

bool contains(const std::vector<std::string>& ops, const std::string& op) { return std::find(ops.begin(), ops.end(), op) != ops.end(); }

}  // namespace

void Replay::take_limits() {
  limits_.parts = plan_->max_subgraphs;
  for (size_t u = 0; u < units_.size(); ++u) {
    limits_.unit_nodes.push_back(static_cast<uint32_t>(units_[u].size() + copies_[u].size()));
    limits_.unit_bytes.push_back(plan_->nodes[units_[u][0]].held);
  }
  limit_devices();
  limit_ends();
  list_ends();
}

void Replay::limit_devices() {
  std::vector<std::string> plugins;
  for (const PlanDevice& device : plan_->devices) {
    const uint64_t note = device.limits.memory, config = device.target.memory_limit;
    const uint64_t bytes = note && config ? std::min(note, config) : std::max(note, config);
    limits_.part.push_back({device.limits.max_nodes, bytes, device.limits.max_io, device.limits.connected_only});
    const auto group = std::find(plugins.begin(), plugins.end(), device.plugin);
    limits_.group.push_back(static_cast<uint32_t>(group - plugins.begin()));
    if (group != plugins.end()) continue;
    plugins.push_back(device.plugin);
    limits_.group_parts.push_back(static_cast<uint32_t>(std::min<uint64_t>(device.limits.max_subgraphs, UINT32_MAX)));
  }
}

void Replay::limit_ends() {
  limits_.not_first.assign(units_.size(), 0);
  limits_.not_last.assign(units_.size(), 0);
  for (size_t u = 0; u < units_.size(); ++u)
    for (const auto* nodes : {&units_[u], &copies_[u]})
      for (uint32_t n : *nodes)
        for (uint32_t d = 0; d < plan_->devices.size(); ++d) {
          if (contains(plan_->devices[d].limits.not_first, plan_->nodes[n].op_type)) limits_.not_first[u] |= bit(d);
          if (contains(plan_->devices[d].limits.not_last, plan_->nodes[n].op_type)) limits_.not_last[u] |= bit(d);
        }
}

void Replay::list_ends() {
  std::vector<std::set<uint32_t>> read(units_.size());  // inputs of the model
  for (uint32_t t = 0; t < plan_->tensors.size(); ++t) {
    if (plan_->tensors[t].from) continue;
    for (uint32_t n : plan_->tensors[t].to) {
      read[unit_of_[n]].insert(t);
      for (uint32_t unit : plan_->nodes[n].copied) read[unit_of_[unit]].insert(t);
    }
  }
  limits_.first_input.push_back(0);
  for (const std::set<uint32_t>& inputs : read) {
    limits_.inputs.insert(limits_.inputs.end(), inputs.begin(), inputs.end());
    limits_.first_input.push_back(static_cast<uint32_t>(limits_.inputs.size()));
  }
  std::set<const PlanTensor*> waited;
  for (const PlanTensor* tensor : tensors_) {
    limits_.is_output.push_back(tensor && tensor->output);
    waited.insert(tensor);
  }
  limits_.lone_outputs.assign(units_.size(), 0);
  for (const PlanTensor& tensor : plan_->tensors)
    if (tensor.from && tensor.output && !waited.count(&tensor)) ++limits_.lone_outputs[unit_of_[*tensor.from]];
}

}  // namespace optima::detail
