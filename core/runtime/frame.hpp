// SPDX-License-Identifier: Apache-2.0
// core/runtime: one graph being run by one request: the main graph, or a body. Private to the room.
#pragma once

#include <atomic>
#include <memory>
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

  void record(ProfileKind kind, uint32_t index, uint64_t start) const { records.push_back({kind, index, start, now_ns() - start}); }
};

/// A tensor's bytes and dims, borrowed.
struct TensorView {
  std::span<const std::byte> bytes;
  std::span<const int64_t> dims;
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
  Status feed(uint32_t slot, const TensorView& value);
  /// Writes the bytes to the slot of a driven node's output. InvalidInput as above.
  Status store(uint32_t slot, const TensorView& value);
  /// Runs the steps in order; inputs must be there. Cancelled between two of them.
  Status run(const RunShare& share);
  /// One of them.
  Status run_step(size_t step, const RunShare& share);

  /// A subgraph that somebody else executes: its plugin can do so asynchronously; before; its context; and after, with the outcome.
  bool has_async(size_t step) const { return step < contexts_.size() && contexts_[step] && contexts_[step]->has_async(); }
  Status prepare_program(size_t step) { return plan.steps[step].has_dynamic_output ? prepare_outputs(step) : Status(); }
  ExecutionContext& context(size_t step) const { return *contexts_[step]; }
  Status finish_program(size_t step, Status status, const RunShare& share, uint64_t start);
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
  Status prepare_outputs(size_t step);
  Status alloc_failure(size_t step, const Status& status) const;
  Status take_outputs(size_t step);

  std::vector<std::unique_ptr<ExecutionContext>> contexts_;  // by step; null for a driven node
  std::vector<std::unique_ptr<FlowState>> flows_;            // by step; null for a subgraph
};

}  // namespace optima
