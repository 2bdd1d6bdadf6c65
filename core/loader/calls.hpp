// SPDX-License-Identifier: Apache-2.0
// core/loader: who is inside which call into which plugin, in words that a signal handler may read. Only where a program guards itself
// (guard.hpp); in any other process a call costs one load more.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "optima/abi.h"

namespace optima::seam {

/// A call that is going on, texts cut to fit.
struct RunningCall {
  char plugin[64], call[32];
  uint32_t subgraph;  ///< OPTIMA_NONE = of none
};

struct CallRecord;  // one per thread that calls plugins, and per work that they carry on
inline constinit std::atomic<bool> calls_are_recorded = false;

/// This thread is inside a call, to the end of the scope. Calls may nest. A thread's first call allocates, and gives the thread a stack for
/// signal handlers, so that an overflow of its own can be told.
class InCall {
 public:
  InCall(std::string_view plugin, std::string_view call) : record_(calls_are_recorded.load(std::memory_order_relaxed) ? enter(plugin, call) : nullptr) {}
  ~InCall() {
    if (record_) leave(*record_);
  }
  InCall(const InCall&) = delete;
  InCall& operator=(const InCall&) = delete;

 private:
  static CallRecord* enter(std::string_view plugin, std::string_view call);
  static void leave(CallRecord& record);
  CallRecord* const record_;
};

/// Work that a call has given to a plugin's own threads: counts as a call until it is over. Any thread, one at a time.
class WorkInPlugin {
 public:
  WorkInPlugin() = default;
  ~WorkInPlugin() { end(); }
  WorkInPlugin(const WorkInPlugin&) = delete;
  WorkInPlugin& operator=(const WorkInPlugin&) = delete;
  void begin(std::string_view plugin, std::string_view call);
  void end();

 private:
  CallRecord* record_ = nullptr;
};

/// What this thread calls to the end of the scope, it calls for this subgraph.
class ForSubgraph {
 public:
  explicit ForSubgraph(uint32_t index) : outer_(current) { current = index; }
  ~ForSubgraph() { current = outer_; }
  ForSubgraph(const ForSubgraph&) = delete;
  ForSubgraph& operator=(const ForSubgraph&) = delete;

 private:
  friend class InCall;
  friend class WorkInPlugin;
  inline static constinit thread_local uint32_t current = OPTIMA_NONE;
  const uint32_t outer_;
};

/// Starts the records, with this thread's. `left_inside` is called when a thread ends although it is inside a call: the plugin called exit().
void record_calls(void (*left_inside)());

/// The innermost call of this thread. False when there is none. Async-signal-safe.
bool call_of_this_thread(RunningCall& call);
/// A call of any thread. Async-signal-safe.
bool some_call(RunningCall& call);
/// The same, if all that are going on are into one plugin. Async-signal-safe.
bool call_of_the_only_plugin(RunningCall& call);
/// Whether there ever was a call. Async-signal-safe.
bool plugins_were_called();

/// One call as it was seen, to ask later whether it is still that one.
struct SeenCall {
  const CallRecord* record;
  uint64_t turn;
  RunningCall call;
  bool is_running() const;
};
std::vector<SeenCall> running_calls();

}  // namespace optima::seam
