// SPDX-License-Identifier: Apache-2.0
// core/support: waiting with a limit that may be any number.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace optima {

/// Longest limit in nanoseconds that a clock can add to what it shows; more is no limit.
constexpr uint64_t kLongestWait = uint64_t{1} << 62;

/// Nanoseconds of that many milliseconds; a number that is too large stands for no limit.
constexpr uint64_t wait_of_ms(uint64_t ms) { return ms < kLongestWait / 1'000'000 ? ms * 1'000'000 : UINT64_MAX; }

/// Waits until `over()` holds, at most `ns` nanoseconds. False when the time was up first.
template <class Over>
bool wait_at_most(std::condition_variable& changed, std::unique_lock<std::mutex>& lock, uint64_t ns, const Over& over) {
  if (ns < kLongestWait) return changed.wait_for(lock, std::chrono::nanoseconds(ns), over);
  changed.wait(lock, over);
  return true;
}

}  // namespace optima
