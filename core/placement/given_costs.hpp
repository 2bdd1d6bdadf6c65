// SPDX-License-Identifier: Apache-2.0
// core/placement: what costs files and the config say of devices, read the same way for planning and for asking what if.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "core/cost/device_costs.hpp"
#include "core/cost/work.hpp"
#include "core/placement/placement.hpp"
#include "core/split/cost_split.hpp"

namespace optima::detail {

/// One run of a node on a device.
struct NodeTime {
  double microseconds = -1;  ///< negative = not known
  std::string_view source;   ///< "profile", "share", "given", "fit", "plugin", "roofline", "scaled", "bodies"; "plan": what an older plan says
};

class GivenCosts {
 public:
  /// Everything is borrowed for the life of this. `work` is by node.
  GivenCosts(const std::vector<PlanDevice>& devices, const std::vector<std::string_view>& nodes, const std::vector<Work>& work,
             const std::vector<MeasuredCosts>& costs, const std::vector<DeviceSettings>& settings, const std::vector<LinkCost>& links);

  /// What the files say of the device; by node nothing where none names it.
  const DeviceCosts& measured(uint32_t device) const { return measured_[device]; }

  /// Starting and moving, without `compute`: what is given, else as in `known`, else nothing. A launch is that of the config, else as
  /// measured; a link's per_byte holds what a byte costs at the edges of subgraphs on either side.
  CostTable between(const CostTable* known = nullptr) const;
  /// Whether a link from one device to the other is given.
  bool linked(uint32_t from, uint32_t to) const { return !links_of(from, to).empty(); }

  /// Times on the device that are not known yet, of the nodes that are wanted: by the roofline model with the config's rates, else with those
  /// of a typical processor, scaled so that what is known comes out right together. times[n * devices + device]. False when nothing tells.
  bool model_rest(uint32_t device, const std::function<bool(size_t)>& wanted, std::vector<NodeTime>& times) const;

 private:
  DeviceSettings settings_of(uint32_t device) const;
  std::vector<const LinkCost*> links_of(uint32_t from, uint32_t to) const;

  const std::vector<PlanDevice>& devices_;
  const std::vector<Work>& work_;
  const std::vector<DeviceSettings>& settings_;
  const std::vector<LinkCost>& links_;
  std::vector<DeviceCosts> measured_;  // by device
};

}  // namespace optima::detail
