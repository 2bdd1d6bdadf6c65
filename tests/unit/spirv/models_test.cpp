// SPDX-License-Identifier: Apache-2.0
// plugins/spirv over real models, by the programs that users run: whole on a Vulkan driver, and split with processors. The driver is the software one.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/support/json.hpp"
#include "tests/cli/models.hpp"
#include "tests/support/packaged_models.hpp"

#ifndef SPIRV_PLUGIN

TEST_CASE("models on plugins/spirv") { MESSAGE("SKIP: glslang, SPIRV-Tools or volk is not here; scripts/setup installs them"); }

#else

using namespace optima;
using namespace optima::test;

namespace {

constexpr double kApart = 1e-4, kHalves = 1e-2;  // of an output's scale

/// Drivers compile each kernel when it first runs, which takes the longest here: halves are tried on some.
bool in_halves(const std::string& name) { return name == "digits" || name == "face detector" || name == "mobilenet_v2" || name == "vit_tiny"; }

}  // namespace

TEST_CASE("models are whole on VULKAN:0 and give ONNX Runtime's answers, in floats and in halves") {
  const TempFolder f;
  std::printf("%-16s %10s %10s\n", "whole", "f32", "f16");
  for (const ModelFile& m : model_files({"resnet18", "mobilenet_v2", "squeezenet", "shufflenet_v2", "efficientnet", "unet", "vit_tiny", "bert", "bilstm"})) {
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
  const TempFolder f;
  std::vector<std::string> devices{"VULKAN:0", "llvm_cpu/X64:0"};
  if (has_openvino()) devices.push_back("openvino/X64:0");
  else MESSAGE("SKIP: " << kNoOpenvino);
  std::string list;
  for (const std::string& d : devices) list += (list.empty() ? "" : ",") + d;
  std::printf("%-16s %10s\n", "split", "apart");
  for (const ModelFile& m : model_files({"mobilenet_v2"})) {
    if (m.name == "digits") continue;  // two convolutions
    CAPTURE(m.name);
    const std::string package = compiled(f, m, m.name, {"--device", list, "--alloc", in_parts(f, m, "Conv", devices)});
    const Result<Json> placed = read_json(package + "/placement.json");
    REQUIRE(placed.ok());
    for (const std::string& device : devices)
      CHECK_MESSAGE(std::any_of((*placed)["subgraphs"].begin(), (*placed)["subgraphs"].end(), [&](const Json& s) { return device.ends_with(s["device"].get<std::string>()); }), device);
    const double found = apart(f, m, package);
    std::printf("%-16s %10.2e\n", m.name.c_str(), found);
    CHECK(found <= kApart);
  }
}

#endif
