// SPDX-License-Identifier: Apache-2.0
// core/runtime: one graph being run by one request: the main graph, or a body. Private to the room.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/runtime/buffers.hpp"
#include "core/runtime/model.hpp"
#include "core/runtime/run_plan.hpp"

namespace optima {

/// What took how long, before it gets its name.
struct Record {
  ProfileKind kind;
  uint32_t index;
  uint64_t start_ns, duration_ns;
};

/// What all frames of a request share.
struct RunShare {
  const std::vector<SubgraphInfo>& subgraphs;  ///< by position
  const std::atomic<bool>& cancel;
  const bool& profiling;
  std::vector<Record>& records;
  uint64_t deadline_ns = 0;  ///< CLOCK_MONOTONIC; 0 = none

  /// Cancelled or Timeout when the run is to stop here.
  Status stop() const;
  RunControl control() const { return {deadline_ns, &cancel}; }
  void record(ProfileKind kind, uint32_t index, uint64_t start) const { records.push_back({kind, index, start, now_ns() - start}); }
};

/// Whether a tensor of these dims may be in the slot; -1 = not known yet.
bool fits(const Slot& slot, std::span<const int64_t> dims);

/// A tensor's bytes and dims, borrowed.
struct TensorView {
  std::span<const std::byte> bytes;
  std::span<const int64_t> dims;
};

/// How a started run leaves the thread that it is on. The methods give nothing when they have taken the run, which goes on behind the step
/// given, maybe before they return: the caller touches nothing of it any more. Else they say why not.
class Relay {
 public:
  explicit Relay(bool pool) : on_pool(pool) {}
  virtual std::optional<Status> to_pool(size_t step) = 0;
  /// A step of a context that has_async(), prepared at `start`.
  virtual std::optional<Status> to_plugin(size_t step, uint64_t start) = 0;
  const bool on_pool;  ///< a plugin's thread, or the one that starts a run, is not ours to compute on

 protected:
  ~Relay() = default;
};

struct FlowState;

/// Slots, contexts and the state of driven nodes of one graph. With static shapes, running its subgraphs allocates nothing. Not movable.
class Frame {
 public:
  explicit Frame(const RunPlan& plan);
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;
  ~Frame();
  /// Contexts of all programs (by position in the variant), memory, and the frames of bodies.
  Status create(std::span<const std::unique_ptr<LoadedProgram>> programs);

  /// Makes the slot show the bytes, in place when they are aligned and long enough for its readers, else a copy. For inputs of
  /// bodies. InvalidInput when the dims are not those the slot promises, or the bytes not as many as they say.
  /// `from`: for a value of this run only, the buffer that it may lie in: then the slot may keep that and leave another there.
  Status feed(uint32_t slot, const TensorView& value, Buffer* from = nullptr);
  /// Writes the bytes to the slot of a driven node's output. InvalidInput as above.
  Status store(uint32_t slot, const TensorView& value);
  /// Runs the steps from `first` on, in order; inputs must be there. Cancelled or Timeout between two of them. Without `relay` all of them here; with it,
  /// nothing when it has taken the run: then the frame may be gone.
  std::optional<Status> run(size_t first, const RunShare& share, Relay* relay);
  Status run(const RunShare& share) { return *run(0, share, nullptr); }

  /// Of a step that a plugin is to execute by itself: whether it can, its context, and the end of it, with the plugin's outcome.
  bool has_async(size_t step) const { return step < contexts_.size() && contexts_[step] && contexts_[step]->has_async(); }
  ExecutionContext& context(size_t step) const { return *contexts_[step]; }
  Status finish(size_t step, Status status, const RunShare& share, uint64_t start);
  TensorView view(const OutputSource& source) const;

  /// f(context, position of its subgraph), those of bodies included.
  template <class F>
  void each_context(F&& f) const {
    for (size_t k = 0; k < contexts_.size(); ++k)
      if (contexts_[k]) f(*contexts_[k], plan.steps[k].subgraph);
    for (const auto& inside : bodies()) inside->each_context(f);
  }

  const RunPlan& plan;
  RequestBuffers buffers;

 private:
  std::vector<const Frame*> bodies() const;
  Status prepare(size_t step);
  Status execute(size_t step, const RunShare& share);
  Status prepare_outputs(size_t step);
  Status settle_alias(size_t step, const Alias& alias);
  Status alloc_failure(size_t step, const Status& status) const;
  Status take_outputs(size_t step);

  std::vector<std::unique_ptr<ExecutionContext>> contexts_;  // by step; null for a driven node
  std::vector<std::unique_ptr<FlowState>> flows_;            // by step; null for a subgraph
};

}  // namespace optima
