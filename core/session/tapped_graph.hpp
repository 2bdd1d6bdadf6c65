// SPDX-License-Identifier: Apache-2.0
// core/session: a graph whose outputs are the values that are watched. Private to the room.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/graph.hpp"
#include "core/loader/registry.hpp"
#include "core/observe/observations.hpp"
#include "core/support/owned_folder.hpp"
#include "core/tensor_io/tensor.hpp"

namespace optima {

/// Position in a list of taps.
using TapIndex = size_t;

/// The taps of the main graph: those that the samples themselves hold, and those that have to be computed, in the order in which they are.
struct TapPlaces {
  std::vector<TapIndex> of_inputs, computed;
};
/// InvalidInput for a name that is no value of the main graph (nearest shown), and for one that is there twice.
Result<TapPlaces> place_taps(const Graph& graph, const std::vector<Tap>& taps);

/// The computed taps in groups whose tensors take at most so many bytes together, one at least in each. Values of unknown size count as none.
std::vector<std::vector<TapIndex>> groups_of(const Graph& graph, const std::vector<Tap>& taps, const std::vector<TapIndex>& computed,
                                             uint64_t most_bytes);

/// A copy whose outputs are these values alone: what nothing of them needs, the passes drop.
Graph with_outputs(const Graph& graph, const std::vector<Tap>& taps, const std::vector<TapIndex>& group);

/// A graph of open sizes with the sizes of samples. It is written once as a model, which is read again for each size.
class SizedGraphs {
 public:
  explicit SizedGraphs(const Graph& graph, const Registry& registry) : graph_(graph), registry_(registry) {}
  /// Whether any input leaves a size open.
  bool any_open() const;
  /// With these sizes of the inputs, by input; the graph itself when nothing is open. InvalidInput when they contradict the model.
  Result<Graph> with_shapes(const std::vector<std::vector<int64_t>>& shapes);

 private:
  const Graph& graph_;
  const Registry& registry_;
  std::optional<ScratchFolder> folder_;
};

}  // namespace optima
