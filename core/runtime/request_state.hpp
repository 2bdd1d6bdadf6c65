// SPDX-License-Identifier: Apache-2.0
// core/runtime: the inside of a request: its tensors, its run, its life beside the caller's thread. Private to the room.
#pragma once

#include <unistd.h>

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
#include "core/support/threads.hpp"

namespace optima {

struct Request::State {
  explicit State(const LoadedModel& m) : model(m), plan(m.state_->plan), frame(plan), buffers(frame.buffers), copies(plan.outputs.size()) {}

  struct Bound {
    std::byte* data = nullptr;
    uint64_t capacity = 0;
  };

  /// An input that an output of the run before feeds.
  struct Tie {
    uint32_t input;             // slot; its own buffer holds the state
    size_t output;              // position
    bool is_fresh = true;       // the next run starts from the initial contents
    std::vector<int64_t> dims;  // of the state
    uint64_t size = 0;
    Buffer next;                // the new state, of an output whose buffer is not the request's to keep
  };

  const LoadedModel& model;
  const RunPlan& plan;
  Frame frame;  // of the main graph
  RequestBuffers& buffers;
  std::vector<Bound> copies;  // per model output: buffers of outputs that no subgraph writes directly
  std::vector<Tie> ties;
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
  uint64_t limit_ns = 0;     // of each run; 0 = none
  uint64_t deadline_ns = 0;  // of this one; CLOCK_MONOTONIC
  std::function<void(const Status&)> callback;
  std::mutex mutex;  // the members below
  std::condition_variable changed;
  bool busy = false, closing = false;
  uint64_t started = 0, finished = 0;
  std::thread::id in_callback;
  std::atomic<int> process{0};  // that started the last run
  Status outcome;
  std::vector<Record> waits;

  // run.cpp
  Status run();
  /// Goes on at `step`, to the end of the run: its outcome, or nothing when a plugin or the pool has taken the run over. Without `relay`
  /// everything is done here.
  std::optional<Status> carry(size_t step, Relay* relay);
  /// The same for a started run that comes to this thread; tells the outcome.
  void go_on(size_t step, bool on_pool);
  Status begin();
  Status end();
  RunShare share() { return {model.subgraphs(), cancel, profiling, records, deadline_ns}; }

  // request_tensors.cpp
  Status take_input(uint32_t slot, Tensor tensor);
  Status stage(SlotState& slot, uint64_t size, uint64_t keep = 0);
  Status load_inputs();
  void tell_of_symbols();
  /// Usage where bytes that outputs are bound to are those of an input or of another output.
  Status check_bindings() const;
  std::span<const std::byte> bound_bytes(size_t output) const;
  Status store_outputs();
  Tensor output(size_t index) const;
  std::span<const std::byte> output_bytes(size_t index) const;
  void copy(std::byte* to, const std::byte* from, uint64_t size, uint32_t index);

  // request_ties.cpp
  Status check_tie(size_t output, size_t input) const;
  Status tie(size_t output, size_t input);
  Status load_states();
  Status load_state(Tie& tie);
  Status place_next(const Tie& tie);
  Status keep_states();
  Status ready_state(Tie& tie);
  SlotState* owner(const OutputSource& source);
  Status reset();

  // request_async.cpp
  struct StartedRun final : Relay {
    StartedRun(State& r, bool pool) : Relay(pool), request(r) {}
    std::optional<Status> to_pool(size_t step) override;
    std::optional<Status> to_plugin(size_t step, uint64_t start) override;
    State& request;
  };
  Status claim();
  void release();
  /// What f() gives; Usage when a run is under way.
  template <class F>
  Status while_idle(F&& f) {
    OPTIMA_RETURN_IF_ERROR(claim());
    const Status status = guarded(std::forward<F>(f));
    release();
    return status;
  }
  Status start();
  std::optional<Status> submit_step(size_t step, uint64_t start);
  void step_done(int32_t code);
  void complete(Status status);
  void cancel_run();
  Status wait(int64_t timeout_ms, bool* still_running);
  /// False where a run is under way that ends in another process, of which this is a fork.
  bool close();
  /// Whether the last run was started in another process, of which this is a fork.
  bool is_elsewhere() const { return process != 0 && process != ::getpid(); }

  // request_events.cpp
  void record(ProfileKind kind, uint32_t index, uint64_t start) { share().record(kind, index, start); }
  void set_profiling(bool on);
  std::vector<ProfileEvent> take_events();
  void add_layers(std::vector<ProfileEvent>& out);
  ProfileEvent event_of(const Record& record) const;
};

}  // namespace optima
