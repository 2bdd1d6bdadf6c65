// SPDX-License-Identifier: Apache-2.0
// core/runtime: the inside of a request: the hot loop and the asynchronous run. Private to the room.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "core/runtime/buffers.hpp"
#include "core/runtime/model_state.hpp"
#include "core/runtime/request.hpp"

namespace optima {

struct Request::State {
  explicit State(const LoadedModel& m) : model(m), plan(m.state_->plan), buffers(plan), copies(plan.outputs.size()) {}

  struct Record {
    ProfileKind kind;
    uint32_t index;
    uint64_t start_ns, duration_ns;
  };
  struct Bound {
    std::byte* data = nullptr;
    uint64_t capacity = 0;
  };

  const LoadedModel& model;
  const RunPlan& plan;
  RequestBuffers buffers;
  std::vector<std::unique_ptr<ExecutionContext>> contexts;  // by step
  std::vector<Bound> copies;  // per model output: buffers of outputs that no subgraph writes directly
  uint32_t number = 0;
  bool has_outputs = false;
  bool profiling = false;
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
  Status load_inputs();
  Status check_symbols() const;
  Status run_steps();
  Status prepare_outputs(size_t step);
  Status alloc_failure(size_t step, const Status& status) const;
  Status take_outputs(size_t step);
  Status store_outputs();
  void copy(std::byte* to, const std::byte* from, uint64_t size, uint32_t index);
  void record(ProfileKind kind, uint32_t index, uint64_t start) { records.push_back({kind, index, start, now_ns() - start}); }

  Status claim();
  void release();
  Status start();
  void run_started();
  Status wait(int64_t timeout_ms);
  void close();
  void set_profiling(bool on);
  std::vector<ProfileEvent> take_events();
  void add_layers(std::vector<ProfileEvent>& out);
  ProfileEvent event_of(const Record& record) const;
};

}  // namespace optima
