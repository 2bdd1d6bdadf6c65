// SPDX-License-Identifier: Apache-2.0
// plugins/openvino over real models: what it says yes to compiles, and compiling twice gives the same bytes.
#include <cmath>

#include "core/tensor_io/load.hpp"
#include "tests/support/seam_groups.hpp"
#include "tests/unit/openvino/harness.hpp"

#ifndef OPENVINO_PLUGIN

TEST_CASE("plugins/openvino over real models") { MESSAGE("SKIP: the OpenVINO wheel is not in .deps/openvino; scripts/setup --with openvino puts it there"); }

#else

using namespace optima;

namespace {

constexpr test::Sampling kSampling{6, 4, 24};  // per model

/// The blob, or the plugin's sentence in `failure`.
std::string blob_of(const seam::Instance& plugin, const Graph& piece, std::string& failure, test::FileSink& sink) {
  const PackedGraph packed = pack(piece, true);
  seam::Status status;
  if (seam::compile(plugin, packed.raw, test::kTarget, sink, status) != OPTIMA_OK) {
    failure = status.message;
    return "";
  }
  sink.take();
  return sink.files.at("subgraph_0.blob");
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
  std::vector<std::string> paths = test::models_in({"/build/models/int8"});
  std::erase_if(paths, [](const std::string& path) { return !std::filesystem::exists(path.substr(0, path.size() - 5) + ".data/input_image.npy"); });
  if (paths.empty()) MESSAGE("SKIP: no models in build/models/int8 (scripts/make_models.py)");
  test::OnnxHost host;
  host.quiet = true;
  const seam::Instance plugin(OPENVINO_PLUGIN, host);
  for (const std::string& path : paths) {
    CAPTURE(path);
    std::string failure;
    test::FileSink sink;
    (void)blob_of(plugin, test::loaded(path), failure, sink);
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
  const std::vector<std::string> paths = test::models_in({"/build/models", "/build/models/int8", "/../shared/models"});
  if (paths.empty()) MESSAGE("SKIP: no models in build/models (scripts/make_models.py) or ../shared/models");
  test::OnnxHost host;
  host.quiet = true;
  const seam::Instance plugin(OPENVINO_PLUGIN, host);
  test::Random random(4);
  for (const std::string& path : paths) {
    CAPTURE(path);
    const Graph graph = test::loaded(path);
    const Uses uses = uses_of(graph);
    const std::vector<uint32_t> yes = test::taken(plugin, graph, test::kTarget);
    CHECK(yes.size() * 2 > graph.main().nodes.size());
    std::vector<std::string> blobs;
    const std::vector<std::vector<uint32_t>> pieces = test::sample(graph, uses, yes, kSampling, random);
    for (const int round : {0, 1})
      for (size_t k = 0; k < pieces.size(); ++k) {
        std::string failure;
        test::FileSink sink;
        const std::string blob = blob_of(plugin, extract(graph, pieces[k], uses), failure, sink);
        CHECK_MESSAGE(failure.empty(), failure, " of", test::names_of(graph, pieces[k]));
        if (round == 0) blobs.push_back(blob);
        else CHECK_MESSAGE(blob == blobs[k], "another blob of", test::names_of(graph, pieces[k]));
      }
  }
}

#endif
