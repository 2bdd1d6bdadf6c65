// SPDX-License-Identifier: Apache-2.0
// host: the options that `plan`, `compile`, `compare`, `inspect` and `alloc` share: how a model is read and placed.
#pragma once

#include <map>

#include "core/compile/compile.hpp"
#include "core/report/what_if.hpp"
#include "host/optima_host/arguments.hpp"
#include "host/optima_host/console.hpp"

namespace optima::host {

/// --shape --dim --inputs --outputs --name
void declare_import(Arguments& arguments);
/// --alloc --pin --device --support --require-device --objective --costs --option
void declare_placement(Arguments& arguments);

/// --costs, for reports about a plan that is there already
void declare_costs(Arguments& arguments);
/// What declare_costs declared, with the session's config.
Result<CostSources> cost_sources(const Console& console, const Arguments& arguments);

/// --shape alone, as a map from inputs to sizes; Usage for what is none.
Result<std::map<std::string, std::vector<int64_t>>> shape_options(const Arguments& arguments);

/// What declare_import declared.
Result<onnx_io::ImportOptions> import_options(const Arguments& arguments);
/// Both, with the session's config; sets --option on the session.
Result<PlanRequest> plan_request(Console& console, const Arguments& arguments);

/// `NAME=VALUE` cut at the last '='.
Result<std::pair<std::string, std::string>> name_and_value(const std::string& text, std::string_view option);

}  // namespace optima::host
