// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/runtime: a planned leg made ready to run in one context.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "plugins/llvm_cpu/runtime/fitted_program.hpp"
#include "plugins/llvm_cpu/runtime/kept_legs.hpp"

namespace optima::llvm_cpu {

class ReadyLeg {
 public:
  ReadyLeg(std::unique_ptr<Leg> leg, Way way, const FittedProgram& program, Engine& engine);

  const Leg& leg() const { return *leg_; }
  const Way& way() const { return way_; }
  /// Makes it one for another way, between runs. False, or an exception: it is of no use any more.
  bool move(const Way& way);
  Steps* steps() { return steps_.get(); }
  /// Legs that came after this one, by their ways.
  KeptLegs& followers() { return followers_; }

 private:
  /// What a step of the reference wants to know; args[-1] points to it.
  struct Call {
    const optima_graph* graph;
    const optima_node* node;
    std::vector<reference::Tensor> inputs;  ///< types and dims, without data
    std::vector<reference::Tensor> outputs;
    Engine* engine;
  };
  static void run_call(void* const* args, int64_t u0, int64_t u1, char* scratch);
  Call call(const KernelSpec& spec) const;
  void find_code(uint32_t spec);
  std::vector<StepCode> code_of_steps() const;

  const FittedProgram& program_;
  Engine& engine_;
  std::unique_ptr<Leg> leg_;
  Way way_;
  Constants::Packed constants_;
  // by number of spec
  std::vector<std::vector<int64_t>> rows_;
  std::vector<std::unique_ptr<Call>> calls_;
  std::vector<StepCode> code_;
  std::unique_ptr<Steps> steps_;
  KeptLegs followers_;
};

}  // namespace optima::llvm_cpu
