// SPDX-License-Identifier: Apache-2.0
// core/runtime: the inside of a request: the hot loop and the asynchronous run. Private to the room.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "core/loader/calls.hpp"
#include "core/runtime/fence.hpp"
#include "core/runtime/frame.hpp"
#include "core/runtime/model_state.hpp"
#include "core/runtime/request.hpp"

namespace optima {

struct Request::State {
  explicit State(const LoadedModel& m) : model(m), plan(m.state_->plan), frame(plan), buffers(frame.buffers), copies(plan.outputs.size()) {}

  struct Bound {
    std::byte* data = nullptr;
    uint64_t capacity = 0;
  };

  const LoadedModel& model;
  const RunPlan& plan;
  Frame frame;  // of the main graph
  RequestBuffers& buffers;
  std::vector<Bound> copies;  // per model output: buffers of outputs that no subgraph writes directly
  struct Release {
    void operator()(Fence* f) const { f->release(); }
  };
  // Of a run that plugins carry on: one step at a time, so what one thread writes the next one reads behind the fence.
  std::unique_ptr<Fence, Release> fence;  // made when first needed, dropped when poisoned
  uint64_t point = 0;                     // the fence's, of the step submitted last
  size_t submitted = 0;                   // that step
  std::atomic<ptrdiff_t> in_plugin{-1};   // that step while its plugin has it, for cancel
  seam::WorkInPlugin work_in_plugin;      // the same, for whoever ends the process meanwhile

  uint64_t run_start = 0, step_start = 0;
  uint32_t number = 0;
  bool has_outputs = false;
  bool profiling = false;
  bool told_of_symbols = false;
  std::vector<Record> records;

  std::atomic<bool> cancel{false};
  std::function<void(const Status&)> callback;
  std::mutex mutex;  // the members below
  std::condition_variable changed;
  bool busy = false, closing = false;
  uint64_t started = 0, finished = 0;
  std::thread::id in_callback;
  Status outcome;
  std::vector<Record> waits;

  Status take_input(uint32_t slot, Tensor tensor);
  Tensor output(size_t index) const;
  std::span<const std::byte> output_bytes(size_t index) const;

  Status run_all();
  Status run_once();
  Status begin();
  Status end();
  Status load_inputs();
  void tell_of_symbols();
  Status run_step(size_t step);
  Status finish_step(size_t step, Status status);
  RunShare share() { return {model.subgraphs(), cancel, profiling, records}; }
  Status store_outputs();
  void copy(std::byte* to, const std::byte* from, uint64_t size, uint32_t index);
  void record(ProfileKind kind, uint32_t index, uint64_t start) { records.push_back({kind, index, start, now_ns() - start}); }

  Status claim();
  void release();
  Status start();
  /// Goes on at `step`: nothing when a plugin or the pool has taken the run over, which then calls again, else the run's outcome.
  std::optional<Status> advance(size_t step, bool on_pool);
  std::optional<Status> hand_on(size_t step, bool on_pool);
  Status submit_step(size_t step);
  void step_done(int32_t code);
  void go_on(size_t step, bool on_pool);
  void complete(Status status);
  void cancel_run();
  Status wait(int64_t timeout_ms);
  void close();
  void set_profiling(bool on);
  std::vector<ProfileEvent> take_events();
  void add_layers(std::vector<ProfileEvent>& out);
  ProfileEvent event_of(const Record& record) const;
};

}  // namespace optima
