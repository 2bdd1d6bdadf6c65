// SPDX-License-Identifier: Apache-2.0
// core/report: what a missing operator costs. Asks the splitter again; asks no plugin.
#pragma once

#include <string>
#include <vector>

#include "core/placement/plan.hpp"
#include "core/support/json.hpp"
#include "core/support/status.hpp"

namespace optima {

/// One thing that a device refuses, and the split as if it did not.
struct WhatIf {
  uint32_t device = 0;
  std::string op, reason;   ///< operator type and reason name; both empty: everything the device refuses
  uint32_t nodes = 0;       ///< refused so
  std::string example;      ///< the first such node
  std::string text;         ///< the plugin's sentence about it
  uint32_t subgraphs = 0;   ///< that the split would have
  uint64_t bytes = 0;       ///< that would cross
};

struct WhatIfReport {
  uint32_t subgraphs = 0;      ///< of the split as it is, asked again
  uint64_t bytes = 0;
  std::vector<WhatIf> cases;   ///< most subgraphs saved first, then most bytes, then device, operator, reason
};

/// For every (device, operator, reason) with a refused node: the plan split again as if that device took those nodes, wishes
/// unchanged. One O(nodes + readers) pass of the splitter each. InvalidInput when the plan lists no tensors.
Result<WhatIfReport> what_if(const Plan& plan);

/// The report as a table for people, and as a document.
std::string what_if_text(const Plan& plan, const WhatIfReport& report);
Json what_if_json(const Plan& plan, const WhatIfReport& report);

}  // namespace optima
