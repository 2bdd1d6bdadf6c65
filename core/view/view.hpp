// SPDX-License-Identifier: Apache-2.0
// core/view: plans as pictures. Reads plans and traces only; asks nobody.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/plan/plan.hpp"
#include "core/report/layers.hpp"
#include "core/report/what_if.hpp"
#include "core/support/json.hpp"
#include "core/support/status.hpp"

namespace optima::view {

/// One line of a timeline: what `run --trace` wrote.
struct TraceEvent {
  std::string kind, name;  ///< "SubgraphExecute", "subgraph 3 on X64:0"
  double start_us = 0, duration_us = 0;
  uint32_t index = 0;      ///< subgraph, or position of an input or output
  uint32_t track = 0;      ///< number of the request
};
/// The Chrome trace of `run --trace`, by start. InvalidInput when it is no such file, or when it tells of a subgraph that the
/// plan does not have.
Result<std::vector<TraceEvent>> read_trace(const std::string& path, const Plan& plan);

/// One page that needs nothing else: no network, no other file. The graph in run order and a frame for each body that the host drives,
/// a colour and a pattern per device and one for tensors, reasons on click, search, cut tensors, estimated times where the plan has
/// them, a timeline when there is a trace, what_if()'s rows when given, and on nodes that make a layer of `layers` its error. Names are escaped. InvalidInput when the plan lists no
/// tensors. Same plan, same bytes.
Result<std::string> to_html(const Plan& plan, const std::vector<TraceEvent>& trace = {}, const WhatIfReport* what_if = nullptr,
                            const std::vector<LayerFigures>& layers = {});

/// The same picture in Graphviz' language, a cluster per subgraph, those of a body inside that of the node that holds it; without
/// tensors listed it has nodes and clusters only. Nodes that make a layer are filled by its error.
std::string to_dot(const Plan& plan, const std::vector<LayerFigures>& layers = {});

/// A node data file of Model Explorer ("custom node data", github.com/google-ai-edge/model-explorer, node_data_builder.py):
/// node name -> {value: device, bgColor}.
Json to_model_explorer(const Plan& plan);

/// Has Graphviz' program `dot` draw a DOT text as "svg" or "png" and returns the picture. Plugin when it is absent, fails, or
/// takes longer than five minutes (its layout is slow for thousands of nodes, the page's is not).
Result<std::string> draw(const std::string& dot, const std::string& format);

}  // namespace optima::view
