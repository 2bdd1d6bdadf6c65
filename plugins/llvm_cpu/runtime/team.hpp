// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/runtime: threads that walk a list of steps together, once per inference. Knows no kernels and no plan.
//
// A step is cut in parts. Part p belongs to thread p * threads / parts, so data stays in that core's cache; a thread that is
// done takes unclaimed parts of the others. The next step starts when all parts are done, not when all threads have arrived:
// a thread that lost its core between two parts, or woke late, delays nobody. A step may be taken in several turns, of the same parts each: one begins
// when all parts of the one before are done.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "plugins/llvm_cpu/runtime/apart.hpp"
#include "plugins/llvm_cpu/runtime/threads.hpp"

namespace optima::llvm_cpu {

/// Nanoseconds of a clock that never goes back.
using Clock = uint64_t (*)();
uint64_t steady_ns();

/// A counter that threads wait on: spin a bounded time, then sleep in the kernel.
class alignas(64) Counter {
 public:
  uint32_t value() const { return value_.load(std::memory_order_acquire); }
  void bump();
  bool reached(uint32_t target) const { return static_cast<int32_t>(value() - target) >= 0; }
  /// True when value() reaches `target` (modulo 2^32) before `most_ns` have passed. A pause of the processor lasts anything from 5
  /// to 150 ns, so the clock decides.
  bool spin(uint32_t target, uint64_t most_ns, Clock clock = steady_ns) const;
  /// Until value() has reached `target`: spins that long, then sleeps. Whether it slept.
  bool wait(uint32_t target, uint64_t spin_ns);

 private:
  std::atomic<uint32_t> value_{0}, sleepers_{0};
};

class Team {
 public:
  /// (part, thread): part in [0, parts of the step), in the next turn as many on, and so on; thread in [0, size).
  using Work = std::function<void(int part, int thread)>;
  static constexpr int kMostParts = 128;

  /// What is walked. A list belongs to one team, which forgets it before it ends.
  class List {
   public:
    /// Between runs. parts in 1 .. kMostParts, turns at least 1; a million turns and more of that many parts no counter holds.
    void add(Work work, int parts, int turns = 1);

   private:
    friend class Team;
    struct Step {
      Step(Work w, int p, int t) : work(std::move(w)), parts(p), turns(t), claims(static_cast<size_t>(p)) {}
      Work work;
      int parts, turns;
      Counter done;
      std::atomic<uint64_t> end_ns{0};  // of the latest part that is done, while observed
      std::vector<std::atomic<uint32_t>> claims;  // number of the turn, of all runs, that took the part
    };
    std::deque<Step> steps_;
    bool is_shared_ = false;  // whether a step has more than one part
    std::atomic<uint32_t> runs_{0};
  };

  /// spawn: how helpers are made; empty = the system's threads.
  /// cores: bit set of processors that helpers may run on, 0 = all, but for the one that the caller is on (apart.hpp); the caller's thread stays where it is.
  explicit Team(int threads, Spawn spawn = {}, uint64_t cores = 0) : threads_(threads), spawn_(std::move(spawn)), cores_(cores) {}
  /// Joins the threads. In a fork() of their process there are none to be joined, and the caller has done all parts of its runs.
  ~Team();
  Team(const Team&) = delete;

  /// The caller and its helpers; after start() what the system gave.
  int size() const { return threads_; }
  /// Where the system gives fewer threads than wanted, the team is smaller: see size().
  void start();
  /// Runs all steps once and returns when they are done; helpers sleep on where every step is one part. One caller at a time. Work must not throw.
  void run(List& list);
  /// Before a list ends, and between runs: no helper looks at it any more when this returns.
  void forget(const List& list);
  /// When set, run() tells at its end when every step, in order, began and how long it took, in ns of steady_ns(). A step ends
  /// when its last part does, whoever does it, and there the next one begins: together they are the whole run. Between runs.
  void observe(std::function<void(size_t, uint64_t, uint64_t)> observer);

 private:
  void walk(int thread, List& list, uint32_t run);
  void take(int thread, List::Step& step, int turn, uint32_t number);
  void tell(List& list, uint64_t begin_ns);
  void part();
  bool is_forked() const;

  // Between inferences the core may belong to the next subgraph's backend: after some microseconds a helper lets go of it.
  static constexpr uint64_t kSpinStep = 50000, kSpinIdle = 15000;  // ns
  int threads_;
  Spawn spawn_;
  uint64_t cores_;
  Counter begun_;
  std::atomic<List*> current_{nullptr};
  std::atomic<int> inside_{0};  // helpers that may look at a list
  std::atomic<bool> stop_{false}, observed_{false};
  std::function<void(size_t, uint64_t, uint64_t)> observer_;
  std::vector<std::thread> helpers_;
  Apart apart_;
  int process_ = 0;  // that started them
};

}  // namespace optima::llvm_cpu
