// SPDX-License-Identifier: Apache-2.0
// host/optima_run: the command line of optima-run. A table and not Boost.Program_options, whose library does not cross-build.
#pragma once

#include <string>
#include <vector>

#include "core/support/log.hpp"
#include "core/support/status.hpp"
#include "host/run_verbs/run_verb.hpp"

namespace optima::run {

enum class Task { Run, Bench, Check, Devices, Help, Version };

struct CommandLine {
  Task task = Task::Run;
  RunOptions options;
  std::vector<std::string> plugin_folders;  ///< empty = the default ones
  OptionValues plugin_options;
  bool json = false, allow_writable = false;
  LogLevel log_level = LogLevel::Warn;
};

/// Words after the program's name. Usage naming the word and, for an unknown option, the nearest ones.
Result<CommandLine> parse(const std::vector<std::string>& words);

/// What --help prints: made from the table that parse() uses.
std::string help_text();

}  // namespace optima::run
