// SPDX-License-Identifier: Apache-2.0
// core/runtime: one execution state of a loaded model: its buffers, its plugins' contexts, its asynchronous run. Knows no files.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "core/runtime/model.hpp"
#include "core/tensor_io/tensor.hpp"

namespace optima {

/// One run at a time; different requests of one model run in parallel. All members from one thread at a time, except wait() and
/// cancel(), which any thread may call. While a run is under way only those two may be called.
class Request {
 public:
  /// Fails with Plugin when a plugin cannot make a context, Io when there is no memory.
  static Result<std::unique_ptr<Request>> create(const LoadedModel& model);
  /// Cancels a run under way and waits for it.
  ~Request();

  /// Positions of names; InvalidInput with the nearest names when there is none.
  Result<size_t> input_index(std::string_view name) const;
  Result<size_t> output_index(std::string_view name) const;

  /// The tensor's bytes are read at each later run, in place when they are aligned and long enough for their readers, else through a copy.
  /// A borrowed tensor must stay valid until it is replaced or the request is gone. InvalidInput for a wrong type or shape.
  Status set_input(size_t index, Tensor tensor);
  /// A 64-byte aligned tensor of the request's own to write the input into, shaped `shape` (the model's where static).
  Result<Tensor> input_buffer(size_t index, std::vector<int64_t> shape);
  /// Later runs write the output to these bytes, directly when they are aligned and long enough. `data` null unbinds. Ends the
  /// outputs of the last run. InvalidInput when a static output does not fit; a dynamic one is judged when its size is known. A run fails with
  /// Usage where an output's bytes are an input's or another output's, too.
  Status bind_output(size_t index, void* data, uint64_t capacity);
  /// The output of the last successful run, without a copy: valid until the next run, a bind_output, a new input that is passed
  /// through to an output, or the end of the request. Usage when there is none.
  Result<Tensor> output(size_t index) const;

  /// Every tensor between subgraphs of the last successful run, in order of production, without a copy: valid until the next
  /// run or the end of the request. One that goes through another door than the usual one is read out of it, into bytes of its own; where it
  /// cannot be it is left out, and `unread`, unless null, gets a sentence. Usage unless the model was loaded with keep_cuts.
  Result<std::vector<Tensor>> cuts(std::vector<std::string>* unread = nullptr) const;

  /// From now on each run finds in the input what the run before left in the output. The state is the request's own memory; it starts
  /// from what was last set as the input, read again at each start, else from zeros. set_input() starts it again. No copy is made unless
  /// the output is bound, or is an input or a constant of the model. Ends the outputs of the last run. InvalidInput when type or shape
  /// differ, Usage when one of them is tied already or a run is under way.
  Status tie(size_t output, size_t input);
  /// Tied inputs start again, and plugins forget what runs left in their contexts: the next run is as the first. All are told, the first
  /// failure counts. Usage while a run is under way.
  Status reset();

  /// Runs here and now. InvalidInput when an input is not set; otherwise the first failing subgraph's Status.
  Status run();

  /// Called on a thread of the pool, or of the plugin that ran the last subgraph, after an asynchronous run and before wait()
  /// returns; may start the next run, must not wait().
  void set_callback(std::function<void(const Status&)> callback);
  /// Starts a run: subgraphs whose plugin offers optima.async/1 on the plugin's own threads, the others on the context's.
  /// Usage while one is under way, and in a fork of the process that made the context.
  Status start();
  /// The outcome of the last started run; Timeout when it is not over within the time, Usage when none was started, or in another process that this is a fork of.
  /// Negative = no limit, 0 = only look. A run's outcome may be Timeout, too: `still_running`, where given, tells them apart.
  Status wait(int64_t timeout_ms, bool* still_running = nullptr);
  /// Later runs that are not over so many milliseconds after run() or start() end with Timeout: between two subgraphs, or inside one whose
  /// plugin can stop while it executes; one that a plugin runs asynchronously is waited for. 0 = no limit, as at first.
  void set_deadline(uint64_t ms);
  /// The run under way ends with Cancelled after the subgraph that is executing (in bodies too), or inside it where its plugin can
  /// stop. Nothing under way: no effect.
  void cancel();

  /// Off at first. Events of RequestInit are always there; of each run since the last take_events() when on.
  void set_profiling(bool on);
  /// The events since the last call, oldest first.
  std::vector<ProfileEvent> take_events();

  const LoadedModel& model() const;
  /// Address at which subgraph `step` got its input or output number `i` in the last run; for tests of the zero-copy promise.
  const void* bound_address(size_t step, bool input, size_t i) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
  explicit Request(std::unique_ptr<State> state);
};

}  // namespace optima
