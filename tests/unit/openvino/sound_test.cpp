// SPDX-License-Identifier: Apache-2.0
// plugins/openvino over real models: what it says yes to compiles, and compiling twice gives the same bytes.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <random>
#include <set>

#include "core/passes/pipeline.hpp"
#include "core/tensor_io/load.hpp"
#include "tests/unit/openvino/harness.hpp"

#ifndef OPENVINO_PLUGIN

TEST_CASE("plugins/openvino over real models") { MESSAGE("SKIP: the OpenVINO wheel is not in .deps/openvino; scripts/setup --with openvino puts it there"); }

#else

using namespace optima;

namespace {

using Random = std::mt19937_64;
constexpr size_t kSingles = 6, kGroups = 4, kLargestGroup = 24;  // per model

/// Models of some folders beside the sources, by path.
std::vector<std::string> models(std::initializer_list<const char*> folders) {
  std::vector<std::string> paths;
  for (const char* folder : folders) {
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
std::string blob_of(const seam::Instance& plugin, const Graph& piece, std::string& failure, test::FileSink& sink) {
  const PackedGraph packed = pack(piece, true);
  optima_compile_request r{};
  r.struct_size = sizeof r;
  r.graph = &packed.raw;
  r.device = &test::kTarget;
  r.stem = seam::str("subgraph_0");
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

/// A tensor of a npy file beside the model: NAME.data/FILE.npy.
Tensor stored(const std::string& model, const std::string& file) {
  auto t = load_tensor(model.substr(0, model.size() - 5) + ".data/" + file + ".npy");
  REQUIRE_MESSAGE(t.ok(), t.status().message());
  return std::move(*t);
}

/// Layers of one run with OpenVINO's clocks on, and its output.
std::vector<std::string> run_timed(const seam::Program& program, const Tensor& input, std::vector<float>& scores) {
  const seam::Instance& plugin = program.plugin;
  seam::Status status;
  optima_context* context = nullptr;
  REQUIRE(plugin.runtime().context_create(program.raw, &context, &status.raw) == OPTIMA_OK);
  const auto* profile = plugin.extension<optima_profile>(OPTIMA_EXT_PROFILE);
  REQUIRE_MESSAGE(profile->enable(context, 1, &status.raw) == OPTIMA_OK, status.message);
  const std::vector<int64_t> dims{1, static_cast<int64_t>(scores.size())};
  optima_tensor in{}, out{};
  for (optima_tensor* t : {&in, &out}) t->struct_size = sizeof *t, t->dtype = OPTIMA_F32, t->fd = -1;
  in.rank = static_cast<int32_t>(input.shape.size()), in.shape = input.shape.data(), in.data = input.data, in.size = input.size;
  out.rank = 2, out.shape = dims.data(), out.data = scores.data(), out.size = scores.size() * sizeof(float);
  REQUIRE_MESSAGE(plugin.runtime().execute(context, &in, 1, &out, 1, &status.raw) == OPTIMA_OK, status.message);
  std::vector<std::string> layers;
  const auto add = [](void* p, const optima_event* events, uint32_t count) -> int32_t {
    for (; count > 0; --count, ++events) static_cast<std::vector<std::string>*>(p)->push_back(seam::text(events->name));
    return OPTIMA_OK;
  };
  CHECK(profile->read(context, add, &layers, &status.raw) == OPTIMA_OK);
  plugin.runtime().context_destroy(context);
  return layers;
}

}  // namespace

TEST_CASE("a quantized model's convolutions are computed in 8 bits, with ONNX Runtime's answer") {
  std::vector<std::string> paths = models({"/build/models/int8"});
  std::erase_if(paths, [](const std::string& path) { return !std::filesystem::exists(path.substr(0, path.size() - 5) + ".data/input_image.npy"); });
  if (paths.empty()) MESSAGE("SKIP: no models in build/models/int8 (scripts/make_models.py)");
  test::OnnxHost host;
  host.quiet = true;
  const seam::Instance plugin(OPENVINO_PLUGIN, host);
  for (const std::string& path : paths) {
    CAPTURE(path);
    std::string failure;
    test::FileSink sink;
    (void)blob_of(plugin, load(path), failure, sink);
    REQUIRE_MESSAGE(failure.empty(), failure);
    const seam::Artifact artifact(sink, nullptr);
    const seam::Program program(plugin, artifact, test::kTarget);
    REQUIRE_MESSAGE(program.raw, program.status.message);
    const Tensor want = stored(path, "output_scores");
    std::vector<float> scores(want.size / sizeof(float));
    int convolutions = 0, of_8_bits = 0;
    for (const std::string& layer : run_timed(program, stored(path, "input_image"), scores)) {
      if (layer.find("[Convolution") == std::string::npos) continue;
      ++convolutions;
      of_8_bits += layer.ends_with("_I8]") || layer.ends_with("_U8]");
    }
    CHECK(convolutions >= 20);
    CHECK(of_8_bits == convolutions);
    const float* w = reinterpret_cast<const float*>(want.data);
    double apart = 0, square = 0;
    for (size_t k = 0; k < scores.size(); ++k) apart += (scores[k] - w[k]) * (scores[k] - w[k]), square += w[k] * w[k];
    // 20 dB, about what 8 bits leave of random weights: roundings fall otherwise. Largest scores are not compared, they lie too near each other.
    MESSAGE(of_8_bits, " of ", convolutions, " convolutions in 8 bits, relative error ", std::sqrt(apart / square));
    CHECK(apart < square * 1e-2);
  }
}

TEST_CASE("what plugins/openvino says yes to compiles, alone and in connected groups, to the same bytes each time") {
  const std::vector<std::string> paths = models({"/build/models", "/build/models/int8", "/../shared/models"});
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
        test::FileSink sink;
        const std::string blob = blob_of(plugin, extract(graph, pieces[k], uses), failure, sink);
        CHECK_MESSAGE(failure.empty(), failure, " of", names(graph, pieces[k]));
        if (round == 0) blobs.push_back(blob);
        else CHECK_MESSAGE(blob == blobs[k], "another blob of", names(graph, pieces[k]));
      }
  }
}

#endif
