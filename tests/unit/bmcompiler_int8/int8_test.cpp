// SPDX-License-Identifier: Apache-2.0
// `compile --device TPU:0 --precision int8`: models are taken whole by the tools and keep their answers on the emulators of two chips.
#include <doctest/doctest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "core/support/json.hpp"
#include "tests/cli/models.hpp"
#include "tests/support/coded_models.hpp"
#include "tests/support/packaged_models.hpp"
#include "tests/support/process.hpp"
#include "tests/support/sophon_tools.hpp"
#include "tests/support/temp_folder.hpp"

using namespace optima;
using namespace optima::test;
namespace fs = std::filesystem;

namespace {

constexpr double kLeastCosine = 0.99, kLeastAgreement = 0.999;

/// What its subgraph is computed in, as the artifact says.
std::string mode_of(const std::string& package) {
  const Result<Json> meta = read_json(package + "/Subgraph_0/subgraph_0.meta");
  REQUIRE(meta.ok());
  return (*meta)["mode"];
}

struct Backend {
  std::string name, package;
  std::string answers = {};  ///< folder
};

/// Runs it once: emulators take seconds.
Nearness answered(const ModelFile& m, Backend& one, const std::string& input) {
  one.answers = one.package + "_answers";
  good({"run", one.package, "-o", one.answers, "--input", input});
  return nearness(m.path, one.answers, input);
}

Backend keeps_its_answers(const TempFolder& f, const ModelFile& m, const std::string& chip, const Data& data, const std::vector<std::string>& further = {}) {
  CAPTURE(m.name);
  CAPTURE(chip);
  std::vector<std::string> words{"--require-device", "TPU:0", "--precision", "int8", "--calib", data.samples, "--option", "bmcompiler.chip=" + chip};
  words.insert(words.end(), further.begin(), further.end());
  Backend one{chip, compiled(f, m, m.name + chip + (further.empty() ? "" : further.back()), words)};
  const Result<Json> placed = read_json(one.package + "/placement.json");
  REQUIRE(placed.ok());
  CHECK((*placed)["subgraphs"].size() == 1);
  CHECK(mode_of(one.package) == "INT8");
  const Nearness reached = answered(m, one, data.judge);
  MESSAGE(m.name << " int8" << (further.empty() ? "" : ", " + further.back()) << " on " << chip << ": cosine " << reached.cosine << ", " << reached.snr_db << " dB against the float model");
  CHECK(reached.cosine >= kLeastCosine);
  return one;
}

/// Each with each other on the same input: what two make of the same scales is as near to each other as to floats, or nearer.
void check_agreement(const std::string& model, const std::vector<Backend>& backends) {
  std::string table;
  for (size_t k = 0; k < backends.size(); ++k)
    for (size_t other = 0; other < k; ++other) {
      const Nearness n = nearness(backends[other].answers, backends[k].answers);
      char line[128];
      std::snprintf(line, sizeof line, "\n%-9s %-9s cosine %.6f, %5.1f dB", backends[other].name.c_str(), backends[k].name.c_str(), n.cosine, n.snr_db);
      table += line;
      CHECK(n.cosine >= kLeastAgreement);
    }
  MESSAGE(model << " in int8 by the same scales:" << table);
}

/// Of build/models.
void check_zoo(const std::string& name, const std::vector<std::string>& chips) {
  if (!has_sophon_tools()) return;
  const std::string model = OPTIMA_SOURCE_DIR "/build/models/" + name + ".ts.onnx";
  if (!fs::exists(model)) {
    MESSAGE("SKIP: build/models is empty; scripts/make_models.py fills it");
    return;
  }
  const TempFolder f;
  const Data data = normal_data(f, {1, 3, 224, 224});
  for (const std::string& chip : chips) keeps_its_answers(f, {name, model, ""}, chip, data);
}

}  // namespace

TEST_CASE("the face detector in int8 keeps its answers and its nine faces on two chips, and agrees with other backends by the same scales") {
  if (!has_sophon_tools()) return;
  if (shared_models().empty()) {
    MESSAGE("SKIP: ../shared/models is not here");
    return;
  }
  const TempFolder f;
  const Data data = face_data(f);
  const ModelFile m{"detector", shared_models() + "/version-RFB-320.onnx", ""};
  std::vector<Backend> backends;
  for (const char* chip : {"bm1684x", "bm1684"}) {
    backends.push_back(keeps_its_answers(f, m, chip, data));
    finds_nine(backends.back().package);
  }
  const std::string scales = backends[0].package + "/encodings.json";
  for (const char* device : {"llvm_cpu", "openvino"}) {
    if (!fs::exists(OPTIMA_BINARY_DIR "/lib/optima/plugins/optima_" + std::string(device) + ".so")) {
      MESSAGE("SKIP: no plugin " << std::string(device));
      continue;
    }
    backends.push_back({device, compiled(f, m, device, {"--require-device", std::string(device) + "/X64:0", "--precision", "int8", "--encodings", scales})});
    answered(m, backends.back(), data.judge);
  }
  check_agreement(m.name, backends);
}

TEST_CASE("the digits in int8 keep their answers on two chips, and their packages say what is in floats") {
  if (!has_sophon_tools()) return;
  const TempFolder f;
  const Data data = normal_data(f, {1, 1, 32, 32});
  for (const char* chip : {"bm1684x", "bm1684"}) {
    const Backend made = keeps_its_answers(f, {"digits", digits_model(), ""}, chip, data);
    std::ifstream in(made.package + "/model.meta");
    const std::string meta((std::istreambuf_iterator<char>(in)), {});
    CHECK(meta.find("\"bmcompiler.floats\": \"in F32 beside codes: 1 Softmax\"") != std::string::npos);  // what is left in floats is said
  }
}

TEST_CASE("codes with zero points of their own keep the digits' answers on a chip that has them, and others say what they have") {
  const TempFolder f;
  const Data data = normal_data(f, {1, 1, 32, 32});
  const ModelFile m{"digits", digits_model(), ""};
  const Ran r = host({"compile", m.path, "-o", f / "refused", "--require-device", "TPU:0", "--precision", "int8", "--scheme", "asymmetric", "--calib", data.samples, "--option",
                      "bmcompiler.chip=bm1684"});
  CHECK(r.code == 4);
  CHECK_MESSAGE(r.err.find(" of 0 to 255, bm1684 has none but 0 and 128 (--scheme shared or symmetric)") != std::string::npos, r.err);
  for (const char* scheme : {"asymmetric", "symmetric"})
    if (has_sophon_tools()) keeps_its_answers(f, m, "bm1684x", data, {"--scheme", scheme});
}

TEST_CASE("ResNet-18 in int8 keeps its answers on two chips") { check_zoo("resnet18", {"bm1684x", "bm1684"}); }
TEST_CASE("MobileNetV2 in int8 keeps its answers on two chips") { check_zoo("mobilenet_v2", {"bm1684x", "bm1684"}); }
TEST_CASE("ViT-tiny in int8 keeps its answers on two chips, with its residual, attention and normalizations in floats") {
  check_zoo("vit_tiny", {"bm1684x", "bm1684"});
}

TEST_CASE("the digits split over a TPU and a processor in int8 hand codes over and keep their answers") {
  if (!has_sophon_tools()) return;
  const TempFolder f;
  const Data data = normal_data(f, {1, 1, 32, 32});
  const ModelFile m{"digits", digits_model(), ""};
  const std::vector<std::string> devices{"TPU:0", "llvm_cpu/X64:0"};
  const std::string package = compiled(f, m, "split", {"--device", devices[0] + "," + devices[1], "--alloc", in_parts(f, m, "Conv", devices), "--precision", "int8", "--calib", data.samples});
  const Result<Json> placed = read_json(package + "/placement.json");
  REQUIRE(placed.ok());
  size_t codes = 0;
  for (const Json& cut : (*placed)["cuts"])
    for (const Json& t : (*placed)["tensors"]) codes += t["name"] == cut["name"] && t["type"].get<std::string>().starts_with("u8[") ? 1 : 0;
  CHECK(codes > 0);
  CHECK(cosine(m.path, package, data.judge) >= kLeastCosine);
}

TEST_CASE("weights alone in codes, and activations of 16 bits, are not for a TPU, and say why") {
  const TempFolder f;
  const Data data = normal_data(f, {1, 1, 32, 32});
  const auto refused = [&](const char* precision) {
    const Ran r = host({"compile", digits_model(), "-o", f / precision, "--require-device", "TPU:0", "--precision", precision, "--calib", data.samples});
    CHECK(r.code == 4);
    return r.err;
  };
  const std::string weights = refused("w8"), wide = refused("a16w8");
  CHECK_MESSAGE(weights.find("weights alone are codes here, wanted activations in codes as well (--precision int8 --calib DATA)") != std::string::npos, weights);
  CHECK_MESSAGE(wide.find("QuantizeLinear: input 2 is dtype 4, must be dtype 2, 3") != std::string::npos, wide);
}
