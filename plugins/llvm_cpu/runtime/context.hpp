// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/runtime: one stream of work: arena, scratch, a team of threads, and the operand pointers of every step.
#pragma once

#include <atomic>
#include <vector>

#include "plugins/llvm_cpu/runtime/program.hpp"
#include "plugins/llvm_cpu/runtime/team.hpp"

namespace optima::llvm_cpu {

class RunContext : public sdk::Context {
 public:
  /// A team of at most `threads`, its helpers on `cores` (bit set, 0 = all).
  RunContext(const LoadedProgram& program, uint64_t cores, int threads);

  void execute(const sdk::Tensors& in, const sdk::OutTensors& out) override;
  /// Looks before each part that the calling thread does; what is left is then passed over, so that the team comes to its end.
  void execute_within(const sdk::Tensors& in, const sdk::OutTensors& out, const sdk::RunControl& control) override;
  void profile(bool on) override;
  void read_profile(const sdk::EventSink& add) override;

 private:
  /// A pointer of some step that is the caller's, set anew for every run.
  struct Patch {
    void** where;
    uint32_t index;   // of inputs or outputs
    uint64_t offset;  // bytes
    bool output;
  };
  struct Event {
    size_t step;
    uint64_t start_ns, duration_ns;
  };
  void add_step(size_t s);
  char* scratch(int thread) const;
  bool is_stopped(int thread);

  const LoadedProgram& program_;
  Memory arena_, scratch_;
  uint64_t scratch_stride_;
  std::vector<std::vector<void*>> args_;
  std::vector<Patch> patches_;
  std::vector<Event> events_;
  uint64_t run_ = 0;
  const sdk::RunControl* control_ = nullptr;  // of the execution under way
  std::atomic<bool> stop_{false};
  Team team_;  // last: its threads use what stands above
};

}  // namespace optima::llvm_cpu
