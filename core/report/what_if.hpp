// SPDX-License-Identifier: Apache-2.0
// core/report: what a missing operator costs. Asks the splitter again; asks no plugin.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/cost/costs_file.hpp"
#include "core/placement/placement.hpp"
#include "core/plan/plan.hpp"
#include "core/support/json.hpp"
#include "core/support/status.hpp"

namespace optima {

/// Where times come from besides the plan, as PlacementRequest has them; a later word counts.
struct CostSources {
  std::vector<MeasuredCosts> costs;
  std::vector<DeviceSettings> settings;
  std::vector<LinkCost> links;
};

/// One thing that a device refuses, and the plan as if it did not.
struct WhatIf {
  std::string device;       ///< as the plan shows it
  std::string op, reason;   ///< operator type and reason name; both empty: everything the device refuses
  uint32_t nodes = 0;       ///< refused so, in bodies too
  std::string example;      ///< the first such node
  std::string text;         ///< the plugin's sentence about it
  uint32_t subgraphs = 0;   ///< that the plan would have, those of bodies included
  uint64_t bytes = 0;       ///< that would cross, in bodies too, each trip alone
  std::optional<double> microseconds;  ///< of one run, estimated; none: a cost is not known
  std::string cost_source;  ///< where the device's times for these nodes are from, see docs/costs-format.md; empty with microseconds
};

struct WhatIfReport {
  uint32_t subgraphs = 0;      ///< of the plan as it is, asked again
  uint64_t bytes = 0;
  std::optional<double> microseconds;
  bool by_time = false;        ///< the plan's objective is latency: cases come by time first
  std::vector<WhatIf> cases;   ///< most saved first: subgraphs, then time, then bytes; then device, operator, reason
};

/// For every (device, operator, reason) with a refused node, in bodies that the host drives too: the plan made again as if that device
/// took those nodes, with wishes, objective and limits unchanged. Times are known where the plan or `given` tell what every node takes;
/// a body counts as often as it has trips (1 when not known), of an If the dearer branch. One run of the splitter each for every graph
/// that has such a node. InvalidInput when the plan, or one inside it, does not
/// keep its question.
Result<WhatIfReport> what_if(const Plan& plan, const CostSources& given = {});

/// The report as a table for people, and as a document.
std::string what_if_text(const Plan& plan, const WhatIfReport& report);
Json what_if_json(const Plan& plan, const WhatIfReport& report);

}  // namespace optima
