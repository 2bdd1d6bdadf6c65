// SPDX-License-Identifier: Apache-2.0
// plugins/spirv/runtime: one stream of work: an arena, and command buffers that were recorded once.
#pragma once

#include <atomic>
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
  /// Kernels start at once, or with the last of `waits`; the program's thread waits for them. Throws UNSUPPORTED where the host has no fences.
  void submit(const sdk::Tensors& in, const sdk::OutTensors& out, sdk::Span<const optima_fence_point> waits, optima_fence_point signal) override;
  /// Ends what was submitted after the parts of it that have begun.
  void cancel() override { cancelled_ = true; }
  /// Of a submitted run: waits for its part that is on its way; false when the run has ended and was signalled. For Completions.
  bool advance();
  void profile(bool on) override;
  void read_profile(const sdk::EventSink& add) override;

 private:
  class Recorded;
  void run(const sdk::Tensors& in, const sdk::OutTensors& out, const sdk::RunControl* control);
  void require_tensors(const sdk::Tensors& in, const sdk::OutTensors& out) const;
  /// What the plan records is there, for the way of timing that is wanted.
  Recorded& recorded();
  void take_inputs(const sdk::Tensors& in);
  void give_outputs(const sdk::OutTensors& out);
  /// Of a run that failed in the middle: what was recorded is gone.
  void forget(const sdk::Error& e);
  void arrived(int32_t code);
  void begin();
  void finish(const sdk::Error& outcome);

  struct Event {
    uint32_t step;
    uint64_t start_ns, duration_ns;
  };
  LoadedProgram& program_;
  std::unique_ptr<Recorded> recorded_;
  bool timed_ = false;
  uint64_t began_ = 0;
  std::vector<Event> events_;

  // Of what was submitted.
  std::atomic<bool> running_{false}, cancelled_{false};
  std::atomic<uint32_t> waits_left_{0};
  std::atomic<int32_t> wait_code_{OPTIMA_OK};
  const optima_tensor* in_ = nullptr;
  optima_tensor* out_ = nullptr;
  optima_fence_point signal_{};
  size_t part_ = 0;  ///< the one that is waited for; the next is on its way, too
};

}  // namespace spirv_plugin
