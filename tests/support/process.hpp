// SPDX-License-Identifier: Apache-2.0
// tests: runs a program as a user would and keeps what it said.
#pragma once

#include <string>
#include <vector>

namespace optima::test {

struct Ran {
  int code = -1;         ///< exit code; 128 + signal when a signal ended it
  std::string out, err;  ///< what it wrote
};

/// words[0] is the program. Waits for it. `environment` ("NAME=value") is added to ours.
Ran run(const std::vector<std::string>& words, const std::vector<std::string>& environment = {});

/// The same with stdout on a pipe that nobody reads any more.
Ran run_unread(const std::vector<std::string>& words);

/// The built optima-host and optima-run, with the built plugins.
std::string host_program();
std::string run_program();
Ran host(std::vector<std::string> words);

}  // namespace optima::test
