// SPDX-License-Identifier: Apache-2.0
// host: progress of long work on stderr: one redrawn line, a line per stage (of long counts about ten), or for programs a JSON object a line.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace optima::host {

/// Any thread.
class Progress {
 public:
  enum class Style { Silent, Lines, Bar, Json };
  explicit Progress(Style style) : style_(style) {}
  ~Progress() { clear(); }

  /// fraction 0..1 of everything; `stage` in a few words, "WHAT: stage" for one of several things worked on side by side.
  void report(double fraction, std::string_view stage);
  /// Removes the redrawn line, so that other output starts on a clean one.
  void clear();

 private:
  std::mutex mutex_;
  Style style_;
  std::map<std::string, std::string, std::less<>> last_;  // what is worked on -> its stage printed last
  bool drawn_ = false;
};

}  // namespace optima::host
