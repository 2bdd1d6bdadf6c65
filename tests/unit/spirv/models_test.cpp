// SPDX-License-Identifier: Apache-2.0
// plugins/spirv over real models, by the programs that users run: whole on a Vulkan driver, and split with processors. The driver is the software one.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "core/support/json.hpp"
#include "tests/cli/models.hpp"
#include "tests/support/coded_models.hpp"
#include "tests/support/coded_units.hpp"
#include "tests/support/packaged_models.hpp"
#include "tests/unit/spirv/validation.hpp"

#ifndef SPIRV_PLUGIN

TEST_CASE("models on plugins/spirv") { MESSAGE("SKIP: glslang, SPIRV-Tools or volk is not here; scripts/setup installs them"); }

#else

using namespace optima;
using namespace optima::test;

namespace {

constexpr double kApart = 1e-4, kHalves = 1e-2;  // of an output's scale

/// Drivers compile each kernel when it first runs, which takes the longest here: halves are tried on some.
bool in_halves(const std::string& name) { return name == "digits" || name == "face detector" || name == "mobilenet_v2" || name == "vit_tiny"; }

std::vector<ModelFile> zoo() {
  return model_files({"resnet18", "resnet50", "mobilenet_v2", "squeezenet", "shufflenet_v2", "efficientnet", "unet", "vit_tiny", "bert", "bilstm"});
}

/// Codes of a model that was quantized by pairs of QuantizeLinear and DequantizeLinear, in the model's order.
std::vector<std::string> codes_of(const TempFolder& f, const std::string& model) {
  good({"--json", "plan", model, "--device", "VULKAN:0", "-o", f / "plan.json"});
  const Result<Json> plan = read_json(f / "plan.json");
  REQUIRE(plan.ok());
  std::vector<std::string> out;
  for (const Json& t : (*plan)["tensors"])
    if (t.contains("from") && (*plan)["nodes"][t["from"].get<size_t>()]["op"] == "QuantizeLinear") out.push_back(t["name"]);
  return out;
}

struct Differing {
  uint64_t codes, all;
  double worst;  ///< steps
};
/// Every other tensor of codes is given, the ones between are computed from them, and then the other way round: what differs is of the one layer.
Differing differing(const TempFolder& f, const std::string& name, const std::string& model) {
  const std::vector<std::string> codes = codes_of(f, model);
  REQUIRE(codes.size() > 10);
  Differing out{0, 0, 0};
  for (const size_t first : {0, 1}) {
    std::string given, made;
    for (size_t k = first; k < codes.size(); k += 2) given += (given.empty() ? "" : ",") + codes[k];
    for (size_t k = first + 1; k < codes.size(); k += 2) made += (made.empty() ? "" : ",") + codes[k];
    const ModelFile part{name + std::to_string(first), model, ""};
    const std::string package = compiled(f, part, part.name, {"--require-device", "VULKAN:0", "--inputs", given, "--outputs", made});
    const Result<Json> compared = parse_json(host({"--json", "compare", model, package, "--inputs", given, "--outputs", made, "--atol", "0", "--rtol", "0"}).out, "compare --json");
    REQUIRE(compared.ok());
    for (const Json& t : (*compared)["tensors"]) {
      const auto count = t["count"].get<uint64_t>();
      out.all += count, out.codes += static_cast<uint64_t>(std::llround(static_cast<double>(count) * (1 - t["share_within"].get<double>())));
      out.worst = std::max(out.worst, t["max_abs"].get<double>());
    }
  }
  return out;
}

/// The bytes of each file of a package's only subgraph, by name.
std::map<std::string, std::string> files_of(const std::string& package) {
  std::map<std::string, std::string> out;
  for (const auto& file : std::filesystem::directory_iterator(package + "/Subgraph_0")) out[file.path().filename()] = get(file.path());
  return out;
}

}  // namespace

TEST_CASE("ResNet-50 is compiled to the same bytes twice") {
  const TempFolder f;
  const ModelFile m = model_files({"resnet50"}).back();
  if (m.name != "resnet50") return;  // model_files() has said that it is not here
  const auto one = files_of(compiled(f, m, "one", {"--require-device", "VULKAN:0"})), other = files_of(compiled(f, m, "other", {"--require-device", "VULKAN:0"}));
  CHECK(one.size() > 20);
  CHECK(one == other);
}

TEST_CASE("models are whole on VULKAN:0 and give ONNX Runtime's answers, in floats and in halves") {
  const TempFolder f;
  const spirv_test::Validation validation(true);
  std::printf("%-16s %10s %10s\n", "whole", "f32", "f16");
  for (const ModelFile& m : zoo()) {
    CAPTURE(m.name);
    const double floats = apart(f, m, compiled(f, m, m.name, {"--require-device", "VULKAN:0"}));
    std::printf("%-16s %10.2e", m.name.c_str(), floats);
    CHECK(floats <= kApart);
    if (!in_halves(m.name)) {
      std::printf("\n");
      continue;
    }
    const double halves = apart(f, m, compiled(f, m, m.name + "16", {"--require-device", "VULKAN:0", "--option", "spirv.precision=f16"}));
    std::printf(" %10.2e\n", halves);
    CHECK(halves <= kHalves);
  }
}

TEST_CASE("models are split over VULKAN and processors by name, and keep their answers") {
  const spirv_test::Validation validation(true);
  check_splits("VULKAN:0", zoo(), kApart);
}

TEST_CASE("operators make of the same codes those that the reference makes, but for ties that floats round either way") {
  const TempFolder f;
  const CodedModel model = coded_model_of_units(f);
  good({"compile", model.file, "-o", f / "gpu", "--name", "units", "--require-device", "VULKAN:0"});
  const std::vector<CodeBound> bounds(coded_units().size(), CodeBound{1, 0.001});
  check_coded_units(model, f / "gpu/units", "units on VULKAN", bounds);
}

TEST_CASE("layers of quantized models make of the same codes those that the reference makes, but for one in a million, by one step") {
  const TempFolder f;
  std::vector<ModelFile> models;
  if (shared_models().empty()) MESSAGE("SKIP: ../shared/models is not here");
  else {
    models.push_back({"detector", f / "detector.onnx", ""});
    good({"quantize", shared_models() + "/version-RFB-320.onnx", "--calib", face_data(f).samples, "-o", models[0].path});
  }
  const std::string zoo = OPTIMA_SOURCE_DIR "/build/models/int8/resnet18.onnx";  // by onnxruntime.quantization
  if (std::filesystem::exists(zoo)) models.push_back({"resnet18", zoo, ""});
  else MESSAGE("SKIP: " << zoo << " is not here, scripts/make_models.py makes it");
  for (const ModelFile& m : models) {
    CAPTURE(m.name);
    const Differing d = differing(f, m.name, m.path);
    MESSAGE(m.name << ": " << d.codes << " of " << d.all << " codes differ, worst " << d.worst);
    CHECK(d.all > 3000000);
    CHECK(d.worst <= 1);
    CHECK(static_cast<double>(d.codes) <= 1e-6 * static_cast<double>(d.all));
  }
}

#endif
