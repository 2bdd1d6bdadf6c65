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

/// Calls `work` on this thread and on up to `threads` - 1 more, and comes back when every call has. Threads that cannot be started are
/// done without, so the calls must share what there is to do. The first failure, as a Status or as an exception.
Status run_on_threads(int64_t threads, const std::function<Status()>& work);

}  // namespace optima
