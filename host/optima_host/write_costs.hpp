// SPDX-License-Identifier: Apache-2.0
// host: from bench's document to costs.
#pragma once

#include <string>

#include "core/session/cost_samples.hpp"
#include "core/support/json.hpp"
#include "core/support/status.hpp"

namespace optima::host {

/// Of bench's document. InvalidInput when its subgraphs are not those of the plan; `place` is for messages.
Result<PackageTimes> read_times(const Plan& plan, const Json& measured, const std::string& place);

/// Writes a costs file from bench's document and the package's placement.json. InvalidInput when either lacks what is needed: a
/// package without placement.json, or one whose subgraphs are not those of the plan.
Status write_costs(const std::string& package, const Json& measured, const std::string& file);

}  // namespace optima::host
