// SPDX-License-Identifier: Apache-2.0
// What a plugin does not take of a node test's model, and the same model with more constants.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "core/graph/graph.hpp"
#include "core/passes/pipeline.hpp"
#include "tests/conformance/coded_texts.hpp"
#include "tests/conformance/node_case.hpp"
#include "tests/support/seam_refusals.hpp"

namespace optima::test {

/// A model's graph and what it is run on.
struct Taken {
  Graph graph;
  std::vector<reference::Tensor> inputs;
  std::map<uint32_t, seam::Said> refused;  ///< by position in the main graph: the answers that are no yes
  bool frozen = false;                     ///< some inputs have become constants
};

/// The model's inputs that a node has to have as constants, as most models have them, become what the test gives them. False where there is none.
inline bool freeze(Taken& c) {
  bool any = false;
  for (const auto& [position, said] : c.refused) {
    if (said.reason != OPTIMA_REASON_CONST_REQUIRED || said.what.rfind("input ", 0) != 0) continue;
    image::Graph& g = c.graph.main();
    const uint32_t value = g.nodes[position].inputs.at(std::stoul(said.what.substr(6)));
    const auto at = std::find(g.inputs.begin(), g.inputs.end(), value);
    if (at == g.inputs.end()) continue;
    const reference::Tensor t = c.inputs.at(static_cast<size_t>(at - g.inputs.begin()));
    g.values[value].constant = static_cast<uint32_t>(c.graph.contents.constants.size());
    c.graph.contents.constants.push_back({t.dtype, t.dims, static_cast<uint32_t>(c.graph.blobs.size())});
    c.graph.blobs.push_back(Blob::copy(t.data, t.size));
    c.inputs.erase(c.inputs.begin() + (at - g.inputs.begin()));
    g.inputs.erase(at);
    any = true;
  }
  return any;
}

/// The graph after the passes as the plugin takes it: as it is, or with inputs as constants; `refused` is empty where it is taken whole.
inline Taken taken(const seam::Instance& plugin, Graph graph, const DataSet& set, const optima_device& device) {
  Taken c{std::move(graph), {}, {}};
  c.inputs = coded(c.graph, c.graph.main().inputs, set.inputs);
  c.refused = seam::refusals(plugin, pack(c.graph, true).raw, device);
  while (!c.refused.empty() && freeze(c)) {
    auto again = passes::run_passes(std::move(c.graph));
    REQUIRE_MESSAGE(again.ok(), again.status().message());
    c.graph = std::move(*again), c.frozen = true;
    c.refused = seam::refusals(plugin, pack(c.graph, true).raw, device);
  }
  return c;
}

/// Cases whose makers and the operator's page differ (reference_exceptions.txt): the reference's answer counts.
inline bool contested(const std::string& name) { return name.rfind("test_resize_downsample_scales_", 0) == 0 && name.ends_with("_align_corners"); }

}  // namespace optima::test
