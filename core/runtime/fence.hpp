// SPDX-License-Identifier: Apache-2.0
// core/runtime: the host's half of optima.fence/1: timelines that plugins signal and anybody waits for. Knows no requests.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "optima/ext/fence.h"

namespace optima {

/// One timeline: its value only grows, and starts at 0. Any thread. Counted: born with one owner, gone with the last release().
class Fence {
 public:
  static Fence* make() { return new Fence; }
  void retain() { owners_.fetch_add(1, std::memory_order_relaxed); }
  void release() {
    if (owners_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

  optima_fence_point point(uint64_t value) { return {reinterpret_cast<optima_fence*>(this), value}; }
  static Fence* of(optima_fence_point p) { return reinterpret_cast<Fence*>(p.fence); }

  /// All values up to this one are reached; what waits for them goes on. A value below the present one changes nothing.
  void signal(uint64_t value);
  /// Points from `value` on that are not reached fail with this; the first poison stays.
  void poison(uint64_t value, int32_t code, std::string text);
  /// OPTIMA_OK, TIMEOUT, or the poison's code; 0 ns = only look.
  int32_t wait(uint64_t value, uint64_t timeout_ns);
  /// Calls once with OK or the poison's code: now when that is known, else on the thread that makes it known, no lock held.
  void notify(uint64_t value, void (*call)(void* data, int32_t code), void* data);
  /// What the poison said; empty without one.
  std::string failure() const;

 private:
  struct Listener {
    uint64_t value;
    void (*call)(void* data, int32_t code);
    void* data;
  };
  Fence() = default;
  ~Fence() = default;
  struct News {
    Listener to;
    int32_t code;
  };
  /// The other side may let go of its last share while a member is still on its way out.
  struct Keep {
    explicit Keep(Fence& f) : fence(f) { fence.retain(); }
    Keep(const Keep&) = delete;
    ~Keep() { fence.release(); }
    Fence& fence;
  };
  bool is_known(uint64_t value) const { return value <= value_ || (code_ != OPTIMA_OK && value >= poisoned_from_); }
  int32_t code_of(uint64_t value) const { return value <= value_ ? int32_t{OPTIMA_OK} : code_; }
  /// Takes out the listeners whose point is known.
  std::vector<News> take_known();
  /// Without the lock, and without the fence: a listener may release it.
  static void tell(const std::vector<News>& news);

  std::atomic<uint32_t> owners_{1};
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t value_ = 0, poisoned_from_ = 0;
  int32_t code_ = OPTIMA_OK;
  std::string text_;
  std::vector<Listener> listeners_;
};

/// HostServices::extension: the table of optima.fence/1; null for any other id.
const void* host_extension(std::string_view id);

}  // namespace optima
