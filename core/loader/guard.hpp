// SPDX-License-Identifier: Apache-2.0
// core/loader: a program's guard against what its plugins may do to the process. For programs alone: a library must not take its user's
// signals.
#pragma once

#include <atomic>
#include <thread>

#include "core/loader/last_words.hpp"

namespace optima {

/// Made once, first in main(). Until end(),
///  - a crash, an abort, exit(), quick_exit(), _exit() (where the program defines it, by on_exit_call()) and an exception that nobody catches
///    become one sentence on stderr with plugin, call and subgraph, and exit code 5. On a plugin's own thread the plugin is named when no
///    other is inside a call. A fault of the program itself is told, too, and then takes its usual course.
///  - the first SIGINT or SIGTERM sets interrupted(); a call into a plugin that does not come back soon is then named on stderr. A second
///    signal, or kGraceMs, ends the process by the signal.
/// Either way leftovers (leftovers.hpp) are removed. Not caught: SIGKILL, the bare system calls, a stack overflow on a plugin's own thread,
/// signals that a plugin blocks or handles itself. In children of fork() nothing is caught.
class ProcessGuard {
 public:
  static constexpr int kGraceMs = 5000;
  explicit ProcessGuard(const Prefixes& prefixes);
  ~ProcessGuard() { (void)end(1); }
  ProcessGuard(const ProcessGuard&) = delete;
  ProcessGuard& operator=(const ProcessGuard&) = delete;

  /// The regular end, right before main() gives `code`; gives it back. From here on libraries' destructors run, which can neither stop the
  /// process with another code nor crash unheard.
  int end(int code);

  /// Set by SIGINT and SIGTERM.
  static const std::atomic<bool>& interrupted();
  /// For a program's own exit() and _exit(): `what` somebody did ("called exit()"), a literal. Gives the exit code to end with; does not
  /// come back before end().
  static int on_exit_call(const char* what, int code);

 private:
  std::thread watcher_;
};

}  // namespace optima
