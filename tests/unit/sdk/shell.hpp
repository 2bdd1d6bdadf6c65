// SPDX-License-Identifier: Apache-2.0
// tests/unit/sdk: programs for tests of spawn() and Talk, and whether they still run.
#pragma once

#include <sys/types.h>

#include <fstream>
#include <string>

#include "optima/plugin/spawn.hpp"

namespace optima::test {

/// A script with nothing of this process's environment.
inline sdk::Command shell(const std::string& script) {
  sdk::Command c;
  c.program = "/bin/sh";
  c.arguments = {"-c", script};
  c.environment = {"PATH=/usr/bin:/bin"};
  return c;
}
/// A zombie that nobody reaped yet does not run.
inline bool running(pid_t pid) {
  std::string line;
  std::getline(std::ifstream("/proc/" + std::to_string(pid) + "/stat"), line);
  const size_t name_end = line.rfind(')');
  return name_end != std::string::npos && line.compare(name_end, 3, ") Z") != 0;
}
/// The number that a script has written into a file.
inline pid_t pid_in(const std::string& path) {
  pid_t pid = 0;
  std::ifstream(path) >> pid;
  return pid;
}

}  // namespace optima::test
