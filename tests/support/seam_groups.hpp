// SPDX-License-Identifier: Apache-2.0
// tests/support: pieces of real models for a plugin to compile over the bare seam: what it takes, and connected groups of that.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <set>

#include "core/onnx_io/onnx_io.hpp"
#include "core/passes/pipeline.hpp"
#include "tests/support/seam_refusals.hpp"

namespace optima::test {

using Random = std::mt19937_64;

/// Models of some folders beside the sources, by path.
inline std::vector<std::string> models_in(std::initializer_list<const char*> folders) {
  std::vector<std::string> paths;
  for (const char* folder : folders) {
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator(std::string(OPTIMA_SOURCE_DIR) + folder, none))
      if (entry.path().extension() == ".onnx") paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

/// As the host hands it to plugins.
inline Graph loaded(const std::string& path) {
  Result<Graph> graph = onnx_io::load_model(path);
  REQUIRE_MESSAGE(graph.ok(), graph.status().message());
  Result<Graph> passed = passes::run_passes(std::move(*graph));
  REQUIRE_MESSAGE(passed.ok(), passed.status().message());
  return std::move(*passed);
}

/// Positions in the main graph of the nodes that the plugin takes on `device`; every no has its reason.
inline std::vector<uint32_t> taken(const seam::Instance& plugin, const Graph& graph, const optima_device& device) {
  const std::map<uint32_t, seam::Said> refused = seam::refusals(plugin, pack(graph, true).raw, device);
  std::vector<uint32_t> yes;
  for (uint32_t k = 0; k < graph.main().nodes.size(); ++k)
    if (!refused.count(k)) yes.push_back(k);
  return yes;
}

/// A node and nodes that it is joined to by values, ascending.
inline std::vector<uint32_t> connected(const Graph& graph, const Uses& uses, const std::vector<uint32_t>& among, size_t size, Random& random) {
  const std::set<uint32_t> allowed(among.begin(), among.end());
  std::vector<uint32_t> edge{among[random() % among.size()]};
  std::set<uint32_t> group;
  while (!edge.empty() && group.size() < size) {
    std::swap(edge[random() % edge.size()], edge.back());
    const uint32_t at = edge.back();
    edge.pop_back();
    if (!allowed.count(at) || !group.insert(at).second) continue;
    const image::Node& n = graph.main().nodes[at];
    for (uint32_t v : n.inputs)
      if (v != OPTIMA_NONE && uses.producer[v] != OPTIMA_NONE) edge.push_back(uses.producer[v]);
    for (uint32_t v : n.outputs)
      if (v != OPTIMA_NONE) edge.insert(edge.end(), uses.consumers[v].begin(), uses.consumers[v].end());
  }
  return {group.begin(), group.end()};
}

/// One node of each of at most `singles` operators, then `groups` random groups of at most `largest` nodes.
struct Sampling {
  size_t singles, groups, largest;
};
inline std::vector<std::vector<uint32_t>> sample(const Graph& graph, const Uses& uses, const std::vector<uint32_t>& yes, const Sampling& how, Random& random) {
  std::vector<std::vector<uint32_t>> pieces;
  std::vector<uint32_t> mixed = yes;
  std::shuffle(mixed.begin(), mixed.end(), random);
  std::set<std::string> seen;
  for (uint32_t k : mixed)
    if (pieces.size() < how.singles && seen.insert(graph.main().nodes[k].op_type).second) pieces.push_back({k});
  for (size_t g = 0; g < how.groups; ++g) pieces.push_back(connected(graph, uses, yes, 2 + random() % (how.largest - 1), random));
  return pieces;
}

inline std::string names_of(const Graph& graph, const std::vector<uint32_t>& nodes) {
  std::string all;
  for (uint32_t k : nodes) all += " " + graph.main().nodes[k].op_type + ":" + graph.main().nodes[k].name;
  return all;
}

}  // namespace optima::test
