// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/runtime: one stream of work on a program whose sizes are fixed.
#pragma once

#include <vector>

#include "plugins/llvm_cpu/runtime/program.hpp"

namespace optima::llvm_cpu {

class RunContext : public sdk::Context {
 public:
  /// A team of at most `threads`, its helpers on `cores` (bit set, 0 = all).
  RunContext(const LoadedProgram& program, uint64_t cores, int threads);

  void execute(const sdk::Tensors& in, const sdk::OutTensors& out) override;
  void execute_within(const sdk::Tensors& in, const sdk::OutTensors& out, const sdk::RunControl& control) override;
  void profile(bool on) override;
  void read_profile(const sdk::EventSink& add) override;

 private:
  const LoadedProgram& program_;
  std::vector<char*> in_, out_;
  std::vector<StepEvent> events_;
  Engine engine_;
  Steps steps_;
};

/// Tells events and forgets them.
void give_events(std::vector<StepEvent>& events, const sdk::EventSink& add);

}  // namespace optima::llvm_cpu
