// SPDX-License-Identifier: Apache-2.0
// host: `inspect --shapes`: the sizes of a model's or a package's tensors, and which of them come with the inputs.
#pragma once

#include <string>

#include "core/graph/graph.hpp"
#include "core/package/package.hpp"
#include "core/support/json_value.hpp"

namespace optima::host {

/// The same for people and as JSON.
struct ShapesFound {
  std::string text;
  Json json;
};

/// Inputs and outputs, with what is said of their open sizes.
ShapesFound shapes_of(const Graph& graph);
/// Inputs, outputs and what crosses subgraphs (not those of bodies), and for each subgraph whether its sizes are known or come with the run.
ShapesFound shapes_of(const Package& package);

}  // namespace optima::host
