// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/runtime: what one context runs with: a team, an arena, scratch memory; and the steps of a plan with their pointers.
#pragma once

#include <atomic>
#include <exception>
#include <string>
#include <vector>

#include "optima/plugin/plugin.hpp"
#include "plugins/llvm_cpu/plan/plan.hpp"
#include "plugins/llvm_cpu/runtime/cut.hpp"
#include "plugins/llvm_cpu/runtime/memory.hpp"
#include "plugins/llvm_cpu/runtime/team.hpp"

namespace optima::llvm_cpu {

/// Kernel files are opened once and stay open: code is never unloaded. args[-1] is the step's own (StepCode::ahead).
using KernelFunction = void (*)(void* const* args, int64_t u0, int64_t u1, char* scratch);

/// What a step runs, and what it finds at args[-1]: a row of sizes, or whatever its function wants; null where it reads nothing there.
struct StepCode {
  KernelFunction kernel;
  void* ahead = nullptr;
  bool no_subnormals = false;  ///< it takes numbers below the smallest normal float as zeros (sums_products in subnormals.hpp)
};

class Engine;

/// The steps of one plan for one engine. The plan, its code and its constants outlive it.
class Steps {
 public:
  /// `code` and `constants` by the plan's numbers of steps and constants.
  Steps(const Plan& plan, std::vector<StepCode> code, const std::vector<char*>& constants, Engine& engine);
  /// Forgotten by the engine's team.
  ~Steps();
  Steps(const Steps&) = delete;

  const Plan& plan() const { return plan_; }
  /// Between runs: takes what the plan says now of units and arguments, the code and the constants that there are now. False when a step is to be cut in
  /// other parts than it is: only new steps do.
  bool follow_plan(const std::vector<StepCode>& code, const std::vector<char*>& constants);
  /// The caller's memory, by number of input and output, for the next run.
  void bind(const std::vector<char*>& inputs, const std::vector<char*>& outputs);

 private:
  friend class Engine;
  /// A pointer of some step that is set anew: the caller's for every run, the arena's when that moves.
  struct Patch {
    void** where;
    uint32_t index;   // of inputs or outputs
    uint64_t offset;  // bytes
  };
  /// One step as its parts find it.
  struct Run {
    StepCode code;
    Cut cut;
  };
  void add(size_t step, const std::vector<char*>& constants);
  void point(size_t step, const std::vector<char*>& constants);
  void follow_arena();

  const Plan& plan_;
  Engine& engine_;
  std::vector<Run> runs_;
  std::vector<std::vector<void*>> args_;  // each begins with StepCode::ahead
  std::vector<Patch> inputs_, outputs_, arena_;
  const char* arena_at_ = nullptr;
  Team::List list_;
};

class Engine {
 public:
  /// A team of at most `threads`, its helpers on `cores` (bit set, 0 = all).
  Engine(int threads, uint64_t cores, sdk::Host host);

  int threads() const { return team_.size(); }
  /// Between runs: memory for plans of this size; it only grows, and what was in it is gone. Throws std::bad_alloc; the next
  /// call asks the system again.
  void reserve(uint64_t arena_bytes, uint64_t scratch_bytes);
  /// One caller at a time. Throws what a step left by fail().
  void run(Steps& steps);
  /// The first exception of a run's steps; they go on, for kernels cannot stop, but later steps of this kind look at has_failed().
  void fail(std::exception_ptr why);
  bool has_failed() const { return failing_.load(); }
  /// What was run since within() began is not whole: the caller gives up.
  bool is_stopping() { return is_stopped(0); }

  /// What is done while `control` is asked before each part that the calling thread does; then what is left is passed over, so that the team
  /// comes to its end. Throws CANCELLED or TIMEOUT.
  template <class F>
  void within(const sdk::RunControl& control, F&& run) {
    begin(control);
    try {
      // before and after as well: of a small net the helpers may take all parts, and then nobody asks in between
      if (!is_stopped(0)) run();
      is_stopped(0);
    } catch (...) {
      control_ = nullptr;
      stop_ = false;
      throw;
    }
    end();
  }

  void observe(std::function<void(size_t step, uint64_t start_ns, uint64_t duration_ns)> observer) { team_.observe(std::move(observer)); }

 private:
  friend class Steps;
  void begin(const sdk::RunControl& control);
  void end();
  bool is_stopped(int thread);
  char* scratch(int thread) const;

  Memory arena_, scratch_;
  uint64_t arena_bytes_ = 0, scratch_stride_ = 0;
  uint64_t run_ = 0;
  const sdk::RunControl* control_ = nullptr;  // of the execution under way
  std::atomic<bool> stop_{false}, failing_{false};
  std::exception_ptr failure_;
  Team team_;  // last: its threads use what stands above
};

/// An event of an observed run, for profiles.
struct StepEvent {
  const Plan::Step* step;
  uint64_t start_ns, duration_ns;
};

}  // namespace optima::llvm_cpu
