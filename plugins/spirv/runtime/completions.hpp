// SPDX-License-Identifier: Apache-2.0
// plugins/spirv/runtime: the thread that waits for submitted runs of a program in place of their callers.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace spirv_plugin {

class RunContext;

/// One thread, started by the first run: it takes each part of each run in the order in which they were submitted, waits for it, and brings the run
/// further. Contexts live until their runs have ended.
class Completions {
 public:
  Completions() = default;
  ~Completions();
  Completions(const Completions&) = delete;
  /// `run` has a part on its way. Any thread, this one's own too.
  void add(RunContext& run);

 private:
  void work();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<RunContext*> runs_;
  bool stop_ = false;
  std::thread thread_;  // last
};

}  // namespace spirv_plugin
