// SPDX-License-Identifier: Apache-2.0
// Every model of build/models: whole on llvm_cpu, and with every third node pinned to the reference, against the outputs that
// ONNX Runtime gave, within 1e-4 of their scale; those of 16-bit floats against its answers in f32, within the type's rounding.
#include <doctest/doctest.h>

#include "tests/cli/models.hpp"
#include "tests/cli/zoo.hpp"
#include "tests/support/process.hpp"

using namespace optima::test;

TEST_CASE("every model of the zoo gives ONNX Runtime's answers, whole on llvm_cpu") {
  if (zoo().empty()) MESSAGE("SKIP: build/models is empty; scripts/make_models.py fills it");
  for (const std::filesystem::path& model : zoo()) {
    CAPTURE(model.filename().string());
    const TempFolder f;
    const std::string package = compile_zoo(f, model, {"--require-device", "X64:0"});
    if (!package.empty()) check_package(model, package);
  }
}

TEST_CASE("every model of the zoo gives ONNX Runtime's answers, with every third node on the reference") {
  if (zoo().empty()) MESSAGE("SKIP: build/models is empty; scripts/make_models.py fills it");
  for (const std::filesystem::path& model : zoo()) {
    CAPTURE(model.filename().string());
    const TempFolder f;
    const std::string alloc = allocation_by_number(f, model, [](size_t k) { return k % 3 == 0 ? "REF:0" : ""; });
    const std::string package = compile_zoo(f, model, {"--device", "X64:0", "--alloc", alloc});
    if (!package.empty()) check_package(model, package);
  }
}

TEST_CASE("models of f16 and bf16 give ONNX Runtime's answers in f32, on llvm_cpu and on openvino") {
  if (half_zoo().empty()) MESSAGE("SKIP: build/models/half is empty; scripts/make_models.py fills it");
  if (!has_openvino()) MESSAGE("SKIP: " << kNoOpenvino);
  for (const HalfModel& model : half_zoo())
    for (const std::string device : {"llvm_cpu/X64:0", "openvino/X64:0"}) {
      if (device[0] == 'o' && !has_openvino()) continue;
      CAPTURE(model.path.filename().string());
      CAPTURE(device);
      const TempFolder f;
      const std::string package = compile_zoo(f, model.path, {"--require-device", device});
      if (!package.empty()) check_package(model.path, package, {host_program(), "run"}, model.share);
    }
}

TEST_CASE("models of f16 and bf16 are cut up like others") {
  for (const HalfModel& model : half_zoo()) {
    if (model.path.filename().string().starts_with("resnet")) continue;  // large pictures take the reference minutes
    CAPTURE(model.path.filename().string());
    const TempFolder f;
    const std::string alloc = allocation_by_number(f, model.path, [](size_t k) { return k % 7 == 0 ? "REF:0" : ""; });
    const std::string package = compile_zoo(f, model.path, {"--device", "X64:0", "--alloc", alloc});
    if (!package.empty()) check_package(model.path, package, {host_program(), "run"}, 4 * model.share);
  }
}
