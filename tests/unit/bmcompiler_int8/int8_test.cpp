// SPDX-License-Identifier: Apache-2.0
// `compile --device TPU:0 --precision int8`: models are taken whole by the tools and keep their answers on the emulators of two chips.
#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/support/json.hpp"
#include "tests/cli/models.hpp"
#include "tests/support/coded_models.hpp"
#include "tests/support/packaged_models.hpp"
#include "tests/support/process.hpp"
#include "tests/support/temp_folder.hpp"

using namespace optima;
using namespace optima::test;
namespace fs = std::filesystem;

namespace {

constexpr double kLeastCosine = 0.99;

bool has_tools() {
  if (fs::exists(OPTIMA_SOURCE_DIR "/.deps/sophon/bin/tpuc-opt") || fs::exists(OPTIMA_SOURCE_DIR "/.deps/sophon/tpu_mlir/bin/tpuc-opt")) return true;
  MESSAGE("SKIP: the tools of tpu-mlir are not in .deps/sophon; scripts/setup --with sophon puts them there");
  return false;
}

/// What its subgraph is computed in, as the artifact says.
std::string mode_of(const std::string& package) {
  const Result<Json> meta = read_json(package + "/Subgraph_0/subgraph_0.meta");
  REQUIRE(meta.ok());
  return (*meta)["mode"];
}

std::string keeps_its_answers(const TempFolder& f, const ModelFile& m, const std::string& chip, const Data& data) {
  CAPTURE(m.name);
  CAPTURE(chip);
  const std::string package =
      compiled(f, m, m.name + chip, {"--require-device", "TPU:0", "--precision", "int8", "--calib", data.samples, "--option", "bmcompiler.chip=" + chip});
  const Result<Json> placed = read_json(package + "/placement.json");
  REQUIRE(placed.ok());
  CHECK((*placed)["subgraphs"].size() == 1);
  CHECK(mode_of(package) == "INT8");
  const double reached = cosine(m.path, package, data.judge);
  MESSAGE(m.name << " int8 on " << chip << ": cosine " << reached << " against the float model");
  CHECK(reached >= kLeastCosine);
  return package;
}

/// Of build/models.
void check_zoo(const std::string& name, const std::string& chip) {
  if (!has_tools()) return;
  const std::string model = OPTIMA_SOURCE_DIR "/build/models/" + name + ".ts.onnx";
  if (!fs::exists(model)) {
    MESSAGE("SKIP: build/models is empty; scripts/make_models.py fills it");
    return;
  }
  const TempFolder f;
  keeps_its_answers(f, {name, model, ""}, chip, normal_data(f, {1, 3, 224, 224}));
}

}  // namespace

TEST_CASE("the face detector in int8 keeps its answers and its nine faces on two chips") {
  if (!has_tools()) return;
  if (shared_models().empty()) {
    MESSAGE("SKIP: ../shared/models is not here");
    return;
  }
  const TempFolder f;
  const Data data = face_data(f);
  for (const char* chip : {"bm1684x", "bm1684"}) finds_nine(keeps_its_answers(f, {"detector", shared_models() + "/version-RFB-320.onnx", ""}, chip, data));
}

TEST_CASE("the digits in int8 keep their answers on two chips") {
  if (!has_tools()) return;
  const TempFolder f;
  const Data data = normal_data(f, {1, 1, 32, 32});
  for (const char* chip : {"bm1684x", "bm1684"}) keeps_its_answers(f, {"digits", digits_model(), ""}, chip, data);
}

TEST_CASE("ResNet-18 in int8 keeps its answers") { check_zoo("resnet18", "bm1684x"); }
TEST_CASE("MobileNetV2 in int8 keeps its answers on a chip without zero points") { check_zoo("mobilenet_v2", "bm1684"); }

TEST_CASE("the digits split over a TPU and a processor in int8 hand codes over and keep their answers") {
  if (!has_tools()) return;
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
