// SPDX-License-Identifier: Apache-2.0
// host: progress of long work on stderr: one redrawn line on a terminal, a line per stage elsewhere, nothing with --json.
#pragma once

#include <mutex>
#include <string>
#include <string_view>

namespace optima::host {

/// Any thread.
class Progress {
 public:
  enum class Style { Silent, Lines, Bar };
  explicit Progress(Style style) : style_(style) {}
  ~Progress() { clear(); }

  /// fraction 0..1 of everything; `stage` in a few words.
  void report(double fraction, std::string_view stage);
  /// Removes the redrawn line, so that other output starts on a clean one.
  void clear();

 private:
  std::mutex mutex_;
  Style style_;
  std::string last_stage_;
  bool drawn_ = false;
};

}  // namespace optima::host
