// SPDX-License-Identifier: Apache-2.0
// plugins/spirv/runtime: one stream of work: an arena, and command buffers that were recorded once.
#pragma once

#include <functional>

#include "program.hpp"

namespace spirv_plugin {

/// Records commands, runs them and waits. For loading.
void run_once(Gpu& gpu, const std::function<void(VkCommandBuffer)>& record);

class RunContext : public sdk::Context {
 public:
  explicit RunContext(LoadedProgram& program);
  ~RunContext() override;

  void execute(const sdk::Tensors& in, const sdk::OutTensors& out) override;
  /// Looks between parts of the work; what a part has begun runs to its end.
  void execute_within(const sdk::Tensors& in, const sdk::OutTensors& out, const sdk::RunControl& control) override;
  void profile(bool on) override;
  void read_profile(const sdk::EventSink& add) override;

 private:
  class Recorded;
  void run(const sdk::Tensors& in, const sdk::OutTensors& out, const sdk::RunControl* control);

  struct Event {
    uint32_t step;
    uint64_t start_ns, duration_ns;
  };
  LoadedProgram& program_;
  std::unique_ptr<Recorded> recorded_;
  bool timed_ = false;
  std::vector<Event> events_;
};

}  // namespace spirv_plugin
