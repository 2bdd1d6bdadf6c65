// SPDX-License-Identifier: Apache-2.0
// core/session: how far a quantized model's values are from the float model's, layer by layer, and how much of that is each layer's own.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/graph/graph.hpp"
#include "core/report/layers.hpp"
#include "core/runtime/model.hpp"
#include "core/session/graph_runner.hpp"
#include "core/tensor_io/tensor.hpp"

namespace optima {

/// Called for sample 0, 1, ...: the model's inputs, with their names.
using SampleReader = std::function<Result<std::vector<Tensor>>(uint64_t sample)>;

struct LayersRequest {
  uint64_t samples = 1;
  SampleReader read;
  RunnerSettings runner;
  ProgressReport progress;
};

/// In the order in which the quantized model makes them. `quantized` has QuantizeLinear and DequantizeLinear nodes and the names of the float model.
/// InvalidInput when no layer is common to both; else as the devices that run them say.
Result<std::vector<LayerFigures>> compare_layers(const Graph& wanted, const Graph& quantized, const LayersRequest& request, Registry& registry);

/// The same of a package, loaded with keep_cuts, which shows what crosses its subgraphs and what it answers: without own errors, nodes and
/// saturation. What crosses as codes is read by the encodings.json of the package.
Result<std::vector<LayerFigures>> compare_package_layers(const Graph& wanted, const LoadedModel& package, const LayersRequest& request, Registry& registry);

/// Nodes of the main graph, by id, that read codes and compute: what may stay float for a bound. Ascending.
std::vector<uint32_t> quantized_units(const Graph& quantized);

}  // namespace optima
