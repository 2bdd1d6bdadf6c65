// SPDX-License-Identifier: Apache-2.0
// tests: runs a program as a user would and keeps what it said.
#pragma once

#include <string>
#include <vector>

#include "tests/support/temp_folder.hpp"

namespace optima::test {

struct Ran {
  int code = -1;         ///< exit code; 128 + signal when a signal ended it
  std::string out, err;  ///< what it wrote
};

/// words[0] is the program. Waits for it. `environment` ("NAME=value") is added to ours.
Ran run(const std::vector<std::string>& words, const std::vector<std::string>& environment = {});

/// The same, not waited for: to be signalled while it runs. Ended by force when it is dropped.
class Started {
 public:
  explicit Started(const std::vector<std::string>& words, const std::vector<std::string>& environment = {});
  Started(const Started&) = delete;
  Started& operator=(const Started&) = delete;
  ~Started();
  /// Waits until there is a file of that name, or stderr holds the text. False when the program ended before, or after a minute.
  bool comes_to_file(const std::string& path) const;
  bool says(const std::string& text) const;
  void signal(int number) const;
  Ran finish();

 private:
  template <class F>
  bool comes_to(F&& reached) const;
  TempFolder folder_;
  int child_ = 0;
};

/// The same with stdout on a pipe that nobody reads any more.
Ran run_unread(const std::vector<std::string>& words);

/// The built optima-host and optima-run, with the built plugins.
std::string host_program();
std::string run_program();
Ran host(std::vector<std::string> words);

}  // namespace optima::test
