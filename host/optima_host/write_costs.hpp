// SPDX-License-Identifier: Apache-2.0
// host: what `bench --write-costs` does with what was measured.
#pragma once

#include <string>

#include "core/support/json.hpp"
#include "core/support/status.hpp"

namespace optima::host {

/// Writes a costs file from bench's document and the package's placement.json. InvalidInput when either lacks what is needed: a
/// package without placement.json, or one whose subgraphs are not those of the plan.
Status write_costs(const std::string& package, const Json& measured, const std::string& file);

}  // namespace optima::host
