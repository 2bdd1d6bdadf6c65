// SPDX-License-Identifier: Apache-2.0
// tests/meaning: a graph whole and as the pieces of a plan, both on the reference.
#pragma once

#include <doctest/doctest.h>

#include <cstring>
#include <map>
#include <random>
#include <set>
#include <string>

#include "core/placement/placement.hpp"
#include "reference/reference.hpp"
#include "tests/support/fake_plugin.hpp"

namespace optima::test {

using Values = std::map<std::string, reference::Tensor>;  // by name of the main graph's value

/// Numbers of one seed: floats in -2..2, integers 0 and 1, booleans.
inline reference::Tensor random_tensor(const image::Value& value, std::mt19937_64& random) {
  std::vector<int64_t> dims;
  for (const image::Dim& d : *value.dims) dims.push_back(d.value < 0 ? 1 : d.value);
  void* data = nullptr;
  reference::Tensor out = reference::Tensor::make(value.dtype, dims, &data);
  for (int64_t i = 0; i < out.elements(); ++i) {
    const auto number = static_cast<int64_t>(random() % 2);
    if (value.dtype == OPTIMA_F32) static_cast<float*>(data)[i] = static_cast<float>(static_cast<double>(random() % 4001) / 1000.0 - 2.0);
    else if (value.dtype == OPTIMA_I64) static_cast<int64_t*>(data)[i] = number;
    else if (value.dtype == OPTIMA_I32) static_cast<int32_t*>(data)[i] = static_cast<int32_t>(number);
    else static_cast<uint8_t*>(data)[i] = static_cast<uint8_t>(number);
  }
  return out;
}

/// Runs a graph on values found by name and adds its outputs to them.
inline void run_into(const Graph& graph, Values& values) {
  std::vector<reference::Tensor> inputs;
  for (uint32_t v : graph.main().inputs) inputs.push_back(values.at(graph.main().values[v].name));
  const PackedGraph packed = pack(graph);
  const std::vector<reference::Tensor> outputs = reference::run(packed.raw, inputs);
  for (size_t k = 0; k < outputs.size(); ++k) values[graph.main().values[graph.main().outputs[k]].name] = outputs[k];
}

/// What the pieces of the plan make of the inputs, one after the other, each seeing only what its inputs name.
inline Values run_pieces(const Graph& graph, const Plan& plan, Values values) {
  for (const Subgraph& s : plan.subgraphs) run_into(extract(graph, s.run_nodes(), s.inputs, s.outputs), values);
  return values;
}

inline bool same_bits(const reference::Tensor& a, const reference::Tensor& b) {
  return a.dtype == b.dtype && a.dims == b.dims && a.size == b.size && (a.size == 0 || std::memcmp(a.data, b.data, a.size) == 0);
}

/// Plugins that take every operator of the graph, each but for some nodes; some nodes only in pairs with a reader.
struct RandomDevices {
  std::vector<std::unique_ptr<FakePlugin>> plugins;
  PlacementRequest request;

  RandomDevices(const Graph& graph, std::mt19937_64& random, size_t devices) {
    std::set<std::string> ops;
    for (const image::Graph& g : graph.contents.graphs)
      for (const image::Node& node : g.nodes) ops.insert(node.op_type);
    for (size_t d = 0; d < devices; ++d) {
      const std::string kind = "D" + std::to_string(d);
      const std::vector<std::string> all(ops.begin(), ops.end()), kinds = {kind};
      FakePlugin& plugin = *plugins.emplace_back(std::make_unique<FakePlugin>("p" + std::to_string(d), kinds, all));
      request.plugins.push_back(&plugin);
      request.candidates.push_back({"", kind, 0});
      for (const image::Node& node : graph.main().nodes)
        if (d > 0 && random() % 4 == 0) plugin.refuse(node.id, OPTIMA_REASON_OTHER, "by chance");  // the first takes all
    }
    for (const image::Node& node : graph.main().nodes) {
      if (request.wishes.size() <= node.id) request.wishes.resize(node.id + 1);
      if (random() % 4 != 0) continue;
      const size_t device = random() % devices;
      if (plugins[device]->verdicts.count(node.id)) continue;
      request.wishes[node.id] = Wish{{request.candidates[device]}, true, "chance", static_cast<uint32_t>(1 + random())};
    }
    const auto& nodes = graph.main().nodes;
    for (size_t n = 0; n + 1 < nodes.size(); ++n)
      if (random() % 8 == 0 && !request.wishes[nodes[n].id].hard && !request.wishes[nodes[n + 1].id].hard)
        plugins[random() % devices]->group(static_cast<uint32_t>(n), {nodes[n].id, nodes[n + 1].id});
  }
};

}  // namespace optima::test
