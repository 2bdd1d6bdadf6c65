// SPDX-License-Identifier: Apache-2.0
#include "rest.hpp"

#include <dlfcn.h>
#include <pthread.h>
#include <time.h>

#include <atomic>
#include <cstdint>

namespace runner {
namespace {

std::atomic<bool> resting{false};

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they have a pthread_mutex_lock() of their own

constexpr int kLocks = 64;             // in a row
constexpr int64_t kBusy = 64 * 1000;   // nanoseconds: who takes longer for them computes in between
constexpr long kRest = 50 * 1000;      // nanoseconds; the next command is met that much later at most, thousands of them are a second

int64_t now() {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/// Asked before each lock; a thread that computes is at worst a little later.
void rest_if_polling() {
  thread_local int locks = 0;
  thread_local int64_t since = 0;
  if (++locks < kLocks) return;
  locks = 0;
  if (now() - since < kBusy) {
    const timespec moment{0, kRest};
    ::nanosleep(&moment, nullptr);
  }
  since = now();
}

using Lock = int(pthread_mutex_t*);

#endif

}  // namespace

void let_pollers_rest() { resting = true; }

}  // namespace runner

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
extern "C" __attribute__((visibility("default"))) int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  static std::atomic<runner::Lock*> libc{nullptr};  // no guarded static: that may lock, too
  runner::Lock* lock = libc.load(std::memory_order_relaxed);
  if (!lock) libc.store(lock = reinterpret_cast<runner::Lock*>(::dlsym(RTLD_NEXT, "pthread_mutex_lock")), std::memory_order_relaxed);
  if (runner::resting.load(std::memory_order_relaxed)) runner::rest_if_polling();
  return lock(mutex);
}
#endif
