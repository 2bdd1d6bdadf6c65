// SPDX-License-Identifier: Apache-2.0
// core/runtime: the tensors of one request and the seam's views of them. Private to the room.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/runtime/run_plan.hpp"
#include "core/tensor_io/tensor.hpp"

namespace optima {

/// Grows, never shrinks.
class Buffer {
 public:
  /// When it grows, the first `keep` bytes stay, and it takes some room for the next time. False when there is no memory.
  bool reserve(uint64_t size, uint64_t alignment, uint64_t keep = 0);
  std::byte* data() const { return data_.get(); }
  uint64_t capacity() const { return capacity_; }
  /// For tensors handed to the user.
  std::shared_ptr<void> keeper() const { return data_; }

 private:
  std::shared_ptr<std::byte> data_;  // docs/decisions/0002-blobs-share-their-bytes.md
  uint64_t capacity_ = 0, alignment_ = 0;
};

/// What one request knows of one slot.
struct SlotState {
  const Slot* slot = nullptr;
  std::byte* data = nullptr;         // of this run
  uint64_t size = 0;
  std::vector<int64_t> dims;         // of this run; capacity for kMostDims, so that pointers to it stay
  Buffer own;                        // staging, own output, dynamic
  Tensor input;                      // Home::Input: the user's
  bool has_input = false, stage_input = false;
  std::byte* bound = nullptr;        // Home::Output: the user's
  uint64_t bound_capacity = 0;
  bool stage_output = false;         // runs on `own`, then copied to `bound`
  bool allocated = false;            // alloc was called in this step
  std::string alloc_error;
  std::vector<optima_tensor*> uses;  // every view of it

  // Where outputs live in the buffers of inputs.
  SlotState* storage = nullptr;      // itself, or the slot that it lives in
  std::vector<SlotState*> tenants;   // slots that live here
  optima_tensor* guest = nullptr;    // view of the input that this output replaces, while its step runs
  uint64_t room = 0;                 // bytes of that input, for which there must be room
  bool holds_input = false;          // own holds them already
  Buffer outgrown;                   // own, as it was before the plugin wanted more: it may still read there
  bool expendable = true;            // what lies in own is for this run, or this trip, only
  bool given_away = false;           // own went to an output in this run
  bool tied = false;                 // an input that a model output feeds, or that output: in own, whatever is bound

  /// Brings all views up to data, size and dims.
  void publish();
  /// data = a place for `bytes`: the user's where that is possible, else own. False with alloc_error set.
  bool place(uint64_t bytes);
  /// The output's storage before its step: takes the input's buffer over where it may, else has room for a copy. place() comes next.
  void take_in(SlotState& input, bool is_last);
};

/// The seam's view of one subgraph's tensors.
struct StepViews {
  std::vector<optima_tensor> inputs, outputs;
};

/// Slots and views of one request, built once; the hot loop only reads them. Not movable: views point into it.
class RequestBuffers {
 public:
  explicit RequestBuffers(const RunPlan& plan);
  RequestBuffers(const RequestBuffers&) = delete;
  RequestBuffers& operator=(const RequestBuffers&) = delete;
  /// Memory for the arena and the static outputs. Io when there is none.
  Status allocate();

  std::vector<SlotState> slots;
  std::vector<StepViews> steps;

 private:
  void add_view(uint32_t slot, optima_tensor& view, bool is_output);
  const RunPlan& plan_;
  Buffer arena_;
};

}  // namespace optima
