// SPDX-License-Identifier: Apache-2.0
// plugins/openvino over real models: what it says yes to compiles, and compiling twice gives the same bytes.
#include <algorithm>
#include <filesystem>
#include <random>
#include <set>

#include "core/passes/pipeline.hpp"
#include "tests/unit/openvino/harness.hpp"

#ifndef OPENVINO_PLUGIN

TEST_CASE("plugins/openvino over real models") { MESSAGE("SKIP: the OpenVINO wheel is not in .deps/openvino; scripts/setup --with openvino puts it there"); }

#else

using namespace optima;

namespace {

using Random = std::mt19937_64;
constexpr size_t kSingles = 6, kGroups = 4, kLargestGroup = 24;  // per model

/// The zoo of scripts/make_models.py and the trained models, by path.
std::vector<std::string> models() {
  std::vector<std::string> paths;
  for (const char* folder : {"/build/models", "/../shared/models"}) {
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator(std::string(OPTIMA_SOURCE_DIR) + folder, none))
      if (entry.path().extension() == ".onnx") paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

Graph load(const std::string& path) {
  Result<Graph> graph = onnx_io::load_model(path);
  REQUIRE_MESSAGE(graph.ok(), graph.status().message());
  Result<Graph> passed = passes::run_passes(std::move(*graph));
  REQUIRE_MESSAGE(passed.ok(), passed.status().message());
  return std::move(*passed);
}

/// Positions in the main graph of the nodes that the plugin takes; every no has its reason.
std::vector<uint32_t> taken(const seam::Instance& plugin, const Graph& graph) {
  const PackedGraph packed = pack(graph, true);
  std::vector<uint32_t> ids;
  for (const image::Node& n : graph.main().nodes) ids.push_back(n.id);
  optima_check_request r{};
  r.struct_size = sizeof r;
  r.graph = &packed.raw;
  r.nodes = ids.data(), r.node_count = static_cast<uint32_t>(ids.size());
  r.device = &test::kTarget;
  seam::Verdicts verdicts;
  seam::Status status;
  REQUIRE_MESSAGE(plugin.compiler().check(plugin.self, &r, seam::Verdicts::add, &verdicts, &status.raw) == OPTIMA_OK, status.message);
  std::vector<uint32_t> yes;
  for (uint32_t k = 0; k < ids.size(); ++k) {
    const seam::Said& said = verdicts.by_node.at(ids[k]);
    if (said.verdict == OPTIMA_VERDICT_SUPPORTED) yes.push_back(k);
    else CHECK_MESSAGE((said.reason != OPTIMA_REASON_NONE && !said.text.empty()), graph.main().nodes[k].op_type);
  }
  return yes;
}

/// A node and nodes that it is joined to by values, ascending.
std::vector<uint32_t> connected(const Graph& graph, const Uses& uses, const std::vector<uint32_t>& among, size_t size, Random& random) {
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

/// The blob, or the plugin's sentence in `failure`.
std::string blob_of(const seam::Instance& plugin, const Graph& piece, std::string& failure) {
  const PackedGraph packed = pack(piece, true);
  optima_compile_request r{};
  r.struct_size = sizeof r;
  r.graph = &packed.raw;
  r.device = &test::kTarget;
  r.stem = seam::str("subgraph_0");
  test::FileSink sink;
  seam::Watch watch;
  seam::Status status;
  if (plugin.compiler().compile(plugin.self, &r, &sink.raw, &watch.raw, &status.raw) != OPTIMA_OK) {
    failure = status.message;
    return "";
  }
  sink.take();
  return sink.files.at("subgraph_0.blob");
}

std::string names(const Graph& graph, const std::vector<uint32_t>& nodes) {
  std::string all;
  for (uint32_t k : nodes) all += " " + graph.main().nodes[k].op_type + ":" + graph.main().nodes[k].name;
  return all;
}

/// One node of each of some operators, then random groups.
std::vector<std::vector<uint32_t>> sample(const Graph& graph, const Uses& uses, const std::vector<uint32_t>& yes, Random& random) {
  std::vector<std::vector<uint32_t>> pieces;
  std::vector<uint32_t> mixed = yes;
  std::shuffle(mixed.begin(), mixed.end(), random);
  std::set<std::string> seen;
  for (uint32_t k : mixed)
    if (pieces.size() < kSingles && seen.insert(graph.main().nodes[k].op_type).second) pieces.push_back({k});
  for (size_t g = 0; g < kGroups; ++g) pieces.push_back(connected(graph, uses, yes, 2 + random() % (kLargestGroup - 1), random));
  return pieces;
}

}  // namespace

TEST_CASE("what plugins/openvino says yes to compiles, alone and in connected groups, to the same bytes each time") {
  const std::vector<std::string> paths = models();
  if (paths.empty()) MESSAGE("SKIP: no models in build/models (scripts/make_models.py) or ../shared/models");
  test::OnnxHost host;
  host.quiet = true;
  const seam::Instance plugin(OPENVINO_PLUGIN, host);
  Random random(4);
  for (const std::string& path : paths) {
    CAPTURE(path);
    const Graph graph = load(path);
    const Uses uses = uses_of(graph);
    const std::vector<uint32_t> yes = taken(plugin, graph);
    CHECK(yes.size() * 2 > graph.main().nodes.size());
    std::vector<std::string> blobs;
    const std::vector<std::vector<uint32_t>> pieces = sample(graph, uses, yes, random);
    for (const int round : {0, 1})
      for (size_t k = 0; k < pieces.size(); ++k) {
        std::string failure;
        const std::string blob = blob_of(plugin, extract(graph, pieces[k], uses), failure);
        CHECK_MESSAGE(failure.empty(), failure, " of", names(graph, pieces[k]));
        if (round == 0) blobs.push_back(blob);
        else CHECK_MESSAGE(blob == blobs[k], "another blob of", names(graph, pieces[k]));
      }
  }
}

#endif
