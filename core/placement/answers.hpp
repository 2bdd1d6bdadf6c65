// SPDX-License-Identifier: Apache-2.0
// core/placement: what plugins said of a model, kept while it is planned again and again.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/backend/backend.hpp"

namespace optima {

/// Of one model, one set of plugins and one set of device settings. Each question goes to a plugin once, however many rounds the limits
/// on subgraphs or refusals while compiling take; failures are answers too, except Cancelled. One thread at a time.
class PluginAnswers {
 public:
  /// Backend::devices(); `why_none` as there.
  Result<std::vector<DeviceInfo>> devices(Backend& plugin, std::string* why_none);
  /// Backend::ask() of these nodes of a graph for a device, called `device` in full. Node ids tell the graphs of a model apart.
  Result<Answers> ask(Backend& plugin, const std::string& device, const TargetDevice& target, const optima_graph& graph,
                                     const std::vector<uint32_t>& nodes);
  /// Backend::estimate() of these nodes, one cost each in that order, unknown where the plugin told none. It is asked about the nodes
  /// that no earlier call was about.
  Result<std::vector<NodeCost>> estimate(Backend& plugin, const std::string& device, const TargetDevice& target, const optima_graph& graph,
                                         const std::vector<uint32_t>& nodes);

 private:
  struct Listed {
    Result<std::vector<DeviceInfo>> devices;
    std::string why_none;
  };
  struct Estimates {
    std::map<uint32_t, NodeCost> by_node;
    Status failure;
  };
  std::map<const Backend*, Listed> devices_;
  std::map<std::pair<std::string, std::vector<uint32_t>>, Result<Answers>> verdicts_;
  std::map<std::string, Estimates> estimates_;  // by device
};

}  // namespace optima
