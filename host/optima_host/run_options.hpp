// SPDX-License-Identifier: Apache-2.0
// host: the options that `run`, `bench` and `compare` share, and a printer that follows --json.
#pragma once

#include "host/optima_host/arguments.hpp"
#include "host/optima_host/console.hpp"
#include "host/run_verbs/run_verb.hpp"

namespace optima::host {

/// --resize --crop --mean --std --layout --color
void declare_pictures(Arguments& arguments);
Result<ImageOptions> picture_options(const Arguments& arguments);

/// --input --image --resize --crop --mean --std --layout --color --threads --option
void declare_run(Arguments& arguments);
Result<RunOptions> run_options(Console& console, const Arguments& arguments);
/// --shape and --dim of verbs that run a package.
void declare_sizes(Arguments& arguments);
/// --dim of declare_sizes(); --shape comes with run_options().
Result<std::map<std::string, int64_t>> dim_sizes(const Arguments& arguments);

RunPrinter printer_of(const Console& console);

}  // namespace optima::host
