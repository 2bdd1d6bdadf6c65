// SPDX-License-Identifier: Apache-2.0
// core/support: work that several threads share, and what becomes of exceptions at the edge of a thread or program.
#pragma once

#include <cstdint>
#include <functional>

#include "core/support/status.hpp"

namespace optima {

/// In a catch block: the exception as a Status. Io "out of memory" for std::bad_alloc (made without allocating), else Internal with
/// its words.
Status current_failure();

/// What `body` gives, or the exception that left it.
template <class F>
Status guarded(F&& body) {
  try {
    return body();
  } catch (...) {
    return current_failure();
  }
}

/// Whether the program started this thread, or marked it (main() does); plugins' own threads are not marked. Async-signal-safe.
inline constinit thread_local bool own_thread = false;
inline void mark_own_thread() { own_thread = true; }
inline bool is_own_thread() { return own_thread; }

/// Processors that this process may use, 1 at least.
int64_t allowed_threads();

/// Calls `work` on this thread and on up to `threads` - 1 more, and comes back when every call has. Threads that cannot be started are
/// done without, so the calls must share what there is to do. The first failure, as a Status or as an exception.
Status run_on_threads(int64_t threads, const std::function<Status()>& work);

}  // namespace optima
