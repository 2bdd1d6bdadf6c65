// SPDX-License-Identifier: Apache-2.0
#include "core/support/threads.hpp"

#include <sched.h>

#include <algorithm>
#include <exception>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

#include "core/support/text.hpp"

namespace optima {

Status current_failure() {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return io_error("out of memory");  // short enough to need no memory
  } catch (const std::exception& e) {
    return internal_error(cat("unexpected failure, please report it: ", e.what()));
  } catch (...) {
    return internal_error("unexpected failure without a word, please report it");
  }
}

int64_t allowed_threads() {
  cpu_set_t set;
  return ::sched_getaffinity(0, sizeof set, &set) == 0 ? std::max(1, CPU_COUNT(&set)) : 1;
}

Status run_on_threads(int64_t threads, const std::function<Status()>& work) {
  std::mutex mutex;
  Status first;
  const auto call = [&] {
    Status status = guarded(work);
    const std::lock_guard lock(mutex);
    if (first.ok()) first = std::move(status);
  };
  std::vector<std::thread> others;
  try {
    for (int64_t i = 1; i < threads; ++i) others.emplace_back([&] { mark_own_thread(), call(); });
  } catch (const std::exception&) {
    // No memory or no thread left: those that run do all the work.
  }
  call();
  for (std::thread& other : others) other.join();
  return first;
}

}  // namespace optima
