// SPDX-License-Identifier: Apache-2.0
// Every model of build/models: whole on llvm_cpu, and with every third node pinned to the reference, against the outputs that
// ONNX Runtime gave, within 1e-4 of their scale.
#include <doctest/doctest.h>

#include "tests/cli/zoo.hpp"

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
