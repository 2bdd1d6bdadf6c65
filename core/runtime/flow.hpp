// SPDX-License-Identifier: Apache-2.0
// core/runtime: If, Loop and Scan over their bodies' subgraphs. Private to the room.
#pragma once

#include "core/runtime/frame.hpp"

namespace optima {

/// What one request keeps for one driven node. Its memory is used again by every trip and every run.
struct FlowState {
  /// A value handed from trip to trip.
  struct Carried {
    Buffer now, next;
    std::vector<int64_t> dims;
    TensorView view;  ///< the value before the next trip
  };
  /// The trips' pieces of a scan output, one behind the other.
  struct Gathered {
    std::vector<std::byte> bytes;
    std::vector<int64_t> dims;  ///< of one piece
  };

  static Result<std::unique_ptr<FlowState>> create(const FlowStep& step, std::span<const std::unique_ptr<LoadedProgram>> programs);

  std::vector<std::unique_ptr<Frame>> bodies;
  std::vector<Carried> carried;
  std::vector<Gathered> gathered;
  std::vector<Buffer> slices;  ///< by scan input, where a slice is not one piece of memory
  Buffer assembled;
};

/// Runs the node: reads and writes slots of `around`. Semantics: ONNX operators If 21, Loop 21, Scan 21. A negative trip count
/// is zero trips, as in the specification's loop. InvalidInput where shapes do not fit; every error names the node and, in
/// Loop and Scan, the trip. Cancelled between trips.
Status run_flow(Frame& around, const FlowStep& step, FlowState& state, const RunShare& share);

}  // namespace optima
