// SPDX-License-Identifier: Apache-2.0
// core/loader: rule T of the seam for one plugin file: [setup] calls alone, all others side by side. Knows no plugin.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <shared_mutex>

namespace optima {

/// A shared mutex on which nobody starves: who waits to be alone keeps newcomers out until it had its turn, and those whom it kept out come
/// in before the next one. A thread that is inside comes in again at once, for it would wait for itself: a plugin that signals a fence
/// may bring its caller back.
class Gate {
  // What a thread holds, innermost first.
  class Hold {
   public:
    explicit Hold(Gate& gate) : gate_(gate), outer_(innermost) { innermost = this; }
    ~Hold() { innermost = outer_; }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    friend class Gate;
    Gate& gate_;
    const Hold* const outer_;
  };

 public:
  /// One call beside others, to the end of the scope.
  class Pass {
   public:
    explicit Pass(Gate& gate) : gate_(gate), first_(!gate.is_held_here()), hold_(gate) {
      if (first_) gate_.enter();
    }
    ~Pass() {
      if (first_) gate_.mutex_.unlock_shared();
    }
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;

   private:
    Gate& gate_;
    const bool first_;
    const Hold hold_;
  };

  /// One call alone, to the end of the scope. Not by a thread for which is_held_here().
  class Alone {
   public:
    explicit Alone(Gate& gate) : gate_(gate), hold_(gate) { gate_.enter_alone(); }
    ~Alone() { gate_.mutex_.unlock(); }
    Alone(const Alone&) = delete;
    Alone& operator=(const Alone&) = delete;

   private:
    Gate& gate_;
    const Hold hold_;
  };

  Gate() = default;
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  /// Whether this thread is inside this gate; inside any.
  bool is_held_here() const {
    for (const Hold* h = innermost; h; h = h->outer_)
      if (&h->gate_ == this) return true;
    return false;
  }
  static bool is_any_held_here() { return innermost; }
  /// How many wait to be alone.
  int waiting() const { return waiting_; }

 private:
  // While nobody waits to be alone, a call costs one load more than the mutex does.
  void enter() {
    if (waiting_ > 0) {
      std::unique_lock lock(door_);
      changed_.wait(lock, [this, turn = turns_] { return waiting_ == 0 || turns_ != turn; });
    }
    mutex_.lock_shared();
  }
  void enter_alone() {
    {
      const std::lock_guard lock(door_);
      ++waiting_;
    }
    mutex_.lock();
    const std::lock_guard lock(door_);
    --waiting_;
    ++turns_;
    changed_.notify_all();
  }

  inline static constinit thread_local const Hold* innermost = nullptr;
  std::shared_mutex mutex_;
  std::mutex door_;  // the members below
  std::condition_variable changed_;
  std::atomic<int> waiting_ = 0;  // read without it where a stale number does no harm
  uint64_t turns_ = 0;            // of those that were alone
};

}  // namespace optima
