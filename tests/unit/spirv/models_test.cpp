// SPDX-License-Identifier: Apache-2.0
// plugins/spirv over real models, by the programs that users run: whole on a Vulkan driver, and split with processors. The driver is the software one.
#include <doctest/doctest.h>

#include <cstdio>

#include "tests/support/coded_units.hpp"
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
  check_splits("VULKAN:0", model_files({"mobilenet_v2"}), kApart);
}

TEST_CASE("operators make of the same codes those that the reference makes, but for ties that floats round either way") {
  const TempFolder f;
  const CodedModel model = coded_model_of_units(f);
  good({"compile", model.file, "-o", f / "gpu", "--name", "units", "--require-device", "VULKAN:0"});
  const std::vector<CodeBound> bounds(coded_units().size(), CodeBound{1, 0.001});
  check_coded_units(model, f / "gpu/units", "units on VULKAN", bounds);
}

#endif
