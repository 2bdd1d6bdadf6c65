// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/runtime: threads that walk one list of steps together, once per inference. Knows no kernels and no plan.
//
// A step is cut in parts. Part p belongs to thread p * threads / parts, so data stays in that core's cache; a thread that is
// done takes unclaimed parts of the others. The next step starts when all parts are done, not when all threads have arrived:
// a thread that lost its core between two parts, or woke late, delays nobody.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

namespace optima::llvm_cpu {

/// A counter that threads wait on: spin a bounded time, then sleep in the kernel.
class alignas(64) Counter {
 public:
  uint32_t value() const { return value_.load(std::memory_order_acquire); }
  void bump();
  /// Until value() has reached `target` (modulo 2^32).
  void wait(uint32_t target, int spins);

 private:
  std::atomic<uint32_t> value_{0}, sleepers_{0};
};

class Team {
 public:
  /// (part, thread): part in [0, parts of the step), thread in [0, size).
  using Work = std::function<void(int part, int thread)>;

  explicit Team(int threads) : threads_(threads) {}
  /// Joins the threads.
  ~Team();
  Team(const Team&) = delete;

  int size() const { return threads_; }
  /// Before start(). parts in 1 .. kMostParts.
  void add(Work work, int parts);
  void start();
  /// Runs all steps once and returns when they are done. One caller at a time. Work must not throw.
  void run();
  /// Called by thread 0 around every step when set: (step, start in ns, duration in ns). Between runs.
  void observe(std::function<void(size_t, uint64_t, uint64_t)> observer) { observer_ = std::move(observer); }

  static constexpr int kMostParts = 128;

 private:
  struct Step {
    Step(Work w, int p) : work(std::move(w)), parts(p), claims(static_cast<size_t>(p)) {}
    Work work;
    int parts;
    Counter done;
    std::vector<std::atomic<uint32_t>> claims;  // number of the inference that took the part
  };
  void walk(int thread, uint32_t inference);

  // Between inferences the core may belong to the next subgraph's backend: after some microseconds a helper lets go of it.
  static constexpr int kSpinStep = 4000, kSpinIdle = 1000;
  int threads_;
  std::deque<Step> steps_;
  Counter begun_;
  std::atomic<bool> stop_{false};
  std::function<void(size_t, uint64_t, uint64_t)> observer_;
  std::vector<std::thread> helpers_;
};

}  // namespace optima::llvm_cpu
