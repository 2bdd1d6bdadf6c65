// SPDX-License-Identifier: Apache-2.0
// plugins/snpe over real models, by the programs that users run: whole on HEXAGON in fp16 and split over several devices, on the wheels' emulator.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/support/json.hpp"
#include "tests/cli/models.hpp"
#include "tests/support/packaged_models.hpp"
#include "tests/support/process.hpp"
#include "tests/support/temp_folder.hpp"

using namespace optima;
using namespace optima::test;
namespace fs = std::filesystem;

namespace {

constexpr double kApart = 1e-2;  // of an output's scale: what fp16 may be away from f32

bool has_wheels() {
  if (fs::exists(OPTIMA_SOURCE_DIR "/.deps/qualcomm/bin/python")) return true;
  MESSAGE("SKIP: the wheels of onnxruntime-qnn are not in .deps/qualcomm; scripts/setup --with qualcomm puts them there");
  return false;
}

}  // namespace

TEST_CASE("models are whole on HEXAGON in fp16 and give ONNX Runtime's answers on the emulator") {
  if (!has_wheels()) return;
  const TempFolder f;
  std::printf("%-16s %10s\n", "whole", "apart");
  std::vector<ModelFile> all = model_files({"mobilenet_v2", "resnet18", "vit_tiny", "bilstm"});
  all.push_back({"gru", f.file("gru.onnxtxt", gru_model()), ""});
  for (const ModelFile& m : all) {
    CAPTURE(m.name);
    const std::string package = compiled(f, m, m.name, {"--require-device", "HEXAGON:0"});
    const double found = apart(f, m, package);
    std::printf("%-16s %10.2e\n", m.name.c_str(), found);
    CHECK(found <= kApart);
    CHECK(fs::exists(package + "/Subgraph_0/subgraph_0.dlc"));
    CHECK(fs::exists(package + "/Subgraph_0/subgraph_0.sm8550.bin"));
  }
}

TEST_CASE("models are split over HEXAGON and processors by name, and keep their answers") {
  if (!has_wheels()) return;
  check_splits("HEXAGON:0", model_files({"resnet18"}), kApart);
}

TEST_CASE("compiling twice gives the same files, whatever the package is called") {
  if (!has_wheels()) return;
  const TempFolder f;
  const ModelFile m{"digits", digits_model(), ""};
  const std::string one = compiled(f, m, "one", {"--require-device", "HEXAGON:0", "--option", "snpe.soc=sm8550,sm8650"});
  const std::string two = compiled(f, m, "two", {"--require-device", "HEXAGON:0", "--option", "snpe.soc=sm8550,sm8650", "--name", "other"});
  int files = 0;
  for (const auto& entry : fs::directory_iterator(one + "/Subgraph_0")) {
    CAPTURE(entry.path().string());
    ++files;
    CHECK(get(entry.path()) == get(two + "/Subgraph_0/" + entry.path().filename().string()));
  }
  CHECK(files == 6);  // a DLC, its meta file, and a context with its wrapper for each chip
}

TEST_CASE("a chip without floats takes no float model, and says what it takes") {
  if (!has_wheels()) return;
  const TempFolder f;
  const Ran r = host({"compile", digits_model(), "-o", f / "out", "--device", "HEXAGON:0", "--option", "snpe.soc=sm8550,qcm6490"});
  CHECK(r.code == 4);
  CHECK_MESSAGE(r.err.find("qcm6490 computes no floats, wanted a quantized model") != std::string::npos, r.err);

  const std::string quantized = OPTIMA_SOURCE_DIR "/build/models/int8/resnet18.onnx";
  if (!fs::exists(quantized)) {
    MESSAGE("SKIP: no models in build/models/int8 (scripts/make_models.py)");
    return;
  }
  good({"--json", "plan", quantized, "--device", "HEXAGON:0,X64:0", "--option", "snpe.soc=qcm6490", "-o", f / "plan.json"});
  const Result<Json> plan = read_json(f / "plan.json");
  REQUIRE(plan.ok());
  int convolutions = 0;
  for (const Json& n : (*plan)["nodes"]) {
    if (n["op"] != "Conv") continue;
    ++convolutions;
    CHECK_MESSAGE(n["answers"]["HEXAGON:0"]["yes"] == true, n.dump());
  }
  CHECK(convolutions == 20);
}

TEST_CASE("a chip that is not known is refused with its neighbours, and a size that is open with the option that fixes it") {
  const TempFolder f;
  const Ran chip = host({"compile", digits_model(), "-o", f / "out", "--device", "HEXAGON:0", "--option", "snpe.soc=sm8555"});
  CHECK(chip.code != 0);
  CHECK_MESSAGE(chip.err.find("'sm8555' (did you mean sm8550?)") != std::string::npos, chip.err);
  const std::string open = f.file("open.onnxtxt", R"(<ir_version: 10, opset_import: ["" : 21]> open (float[batch,4] x) => (float[batch,4] y) { y = Relu(x) })");
  const Ran size = host({"compile", open, "-o", f / "out2", "--device", "HEXAGON:0"});
  CHECK(size.code != 0);
  CHECK_MESSAGE(size.err.find("--dim batch=N") != std::string::npos, size.err);
}
