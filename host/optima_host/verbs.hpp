// SPDX-License-Identifier: Apache-2.0
// host: the verbs. One file each, verb_<name>.cpp; the table is in main.cpp.
#pragma once

#include "host/optima_host/console.hpp"

namespace optima::host {

/// Declares a verb's options, then parses `words`, then does it. With --help it prints the help and succeeds.
using Verb = Status (*)(Console& console, const std::vector<std::string>& words);

Status compile_verb(Console& console, const std::vector<std::string>& words);
Status quantize_verb(Console& console, const std::vector<std::string>& words);
Status plan_verb(Console& console, const std::vector<std::string>& words);
Status run_verb(Console& console, const std::vector<std::string>& words);
Status compare_verb(Console& console, const std::vector<std::string>& words);
Status bench_verb(Console& console, const std::vector<std::string>& words);
Status calibrate_verb(Console& console, const std::vector<std::string>& words);
Status calibrate_costs_verb(Console& console, const std::vector<std::string>& words);
Status inspect_verb(Console& console, const std::vector<std::string>& words);
Status plugins_verb(Console& console, const std::vector<std::string>& words);
Status devices_verb(Console& console, const std::vector<std::string>& words);
Status ops_verb(Console& console, const std::vector<std::string>& words);
Status alloc_verb(Console& console, const std::vector<std::string>& words);
Status explain_verb(Console& console, const std::vector<std::string>& words);
Status diff_verb(Console& console, const std::vector<std::string>& words);
Status view_verb(Console& console, const std::vector<std::string>& words);

/// The file of a plan: of a package its placement.json, else the path itself; "~" expanded.
std::string plan_path(const std::string& package_or_plan);

/// Parses the words of a verb and hands its global options to the console. False: help was asked for and printed.
Result<bool> start(Console& console, Arguments& arguments, const std::vector<std::string>& words);

}  // namespace optima::host
