// SPDX-License-Identifier: Apache-2.0
// Every model of build/models and the trained ones of ../shared/models on openvino: whole, cut at every k-th node between llvm_cpu
// and openvino, and in random thirds (openvino, llvm_cpu, automatic). All are judged by ONNX Runtime within 1e-4 of the outputs'
// scale: build/models by its outputs on file, the trained ones by scripts/answer_of_onnxruntime.py.
// Left out for time: thirds of the second exporter's files, k other than 3 but for four small models, and --at-cuts but for the
// trained models and one of build/models (it runs the reference).
#include <doctest/doctest.h>

#include <random>

#include "tests/cli/models.hpp"
#include "tests/cli/zoo.hpp"
#include "tests/support/process.hpp"

using namespace optima::test;
namespace fs = std::filesystem;

namespace {

const std::string kBoth = "llvm_cpu/X64:0,openvino/X64:0";

/// False, with the reason as a SKIP, where there is nothing to test.
bool ready() {
  if (!has_openvino()) MESSAGE("SKIP: " << kNoOpenvino);
  if (zoo().empty()) MESSAGE("SKIP: build/models is empty; scripts/make_models.py fills it");
  return has_openvino();
}

/// The model in a folder of its own, ONNX Runtime's answer to random inputs beside it. Where ONNX Runtime is not there: the model
/// as it is, which the reference then judges.
fs::path with_answer(const TempFolder& folder, const fs::path& model) {
  static const std::string python = OPTIMA_SOURCE_DIR "/.deps/py/bin/python";
  if (!fs::exists(python)) {
    MESSAGE("SKIP: ONNX Runtime is not in .deps/py (scripts/setup --with tests), the reference judges " << model.filename().string());
    return model;
  }
  const fs::path copy = fs::path(folder.path()) / model.filename();
  fs::copy_file(model, copy);
  const Ran r = run({python, OPTIMA_SOURCE_DIR "/scripts/answer_of_onnxruntime.py", copy.string(), fs::path(copy).replace_extension(".data").string()});
  REQUIRE_MESSAGE(r.code == 0, r.err);
  return copy;
}

std::vector<fs::path> trained() {
  static const TempFolder folder;
  static const std::vector<fs::path> models = [] {
    std::vector<fs::path> all{with_answer(folder, digits_model())};
    if (shared_models().empty()) MESSAGE("SKIP: ../shared/models is not here, so no trained model but the digits");
    else for (const char* name : {"/mnist.onnx", "/version-RFB-320.onnx"}) all.push_back(with_answer(folder, shared_models() + name));
    return all;
  }();
  return models;
}

void check_against_reference(const fs::path& model, const std::string& package, bool at_cuts = false) {
  std::vector<std::string> words = {"compare", model.string(), package};
  if (at_cuts) words.push_back("--at-cuts");
  const Ran r = host(words);
  CAPTURE(r.out);
  CAPTURE(r.err);
  CHECK(r.code == 0);
}

void check_answer(const fs::path& model, const std::string& package) {
  if (fs::exists(fs::path(model).replace_extension(".data"))) check_package(model, package);
  else check_against_reference(model, package);
}

/// Compiles with the allocation, demands at least two subgraphs, and judges the outputs.
void check_split(const fs::path& model, const TempFolder& f, const std::string& allocation, bool at_cuts = false) {
  CAPTURE(model.filename().string());
  size_t subgraphs = 0;
  const std::string package = compile_zoo(f, model, {"--device", kBoth, "--alloc", allocation}, &subgraphs);
  if (package.empty()) return;
  CHECK(subgraphs >= 2);
  check_answer(model, package);
  if (at_cuts) check_against_reference(model, package, true);
}

void check_every_kth(const fs::path& model, size_t k, bool at_cuts = false) {
  CAPTURE(k);
  const TempFolder f;
  check_split(model, f, allocation_by_number(f, model, [k](size_t n) { return n % k == 0 ? "openvino/X64:0" : "llvm_cpu/X64:0"; }), at_cuts);
}

void check_thirds(const fs::path& model, unsigned seed) {
  CAPTURE(seed);
  const TempFolder f;
  std::mt19937 random(seed);
  static constexpr const char* kThirds[] = {"openvino/X64:0", "llvm_cpu/X64:0", ""};
  check_split(model, f, allocation_by_number(f, model, [&](size_t) { return kThirds[random() % 3]; }));
}

fs::path zoo_model(const std::string& name) { return OPTIMA_SOURCE_DIR "/build/models/" + name + ".onnx"; }

}  // namespace

TEST_CASE("every model gives the right answers whole on openvino") {
  if (!ready()) return;
  for (const fs::path& model : zoo()) {
    CAPTURE(model.filename().string());
    const TempFolder f;
    size_t subgraphs = 0;
    const std::string package = compile_zoo(f, model, {"--require-device", "openvino/X64:0"}, &subgraphs);
    if (package.empty()) continue;
    CHECK(subgraphs == 1);
    check_package(model, package);
  }
  for (const fs::path& model : trained()) {
    CAPTURE(model.filename().string());
    const TempFolder f;
    const std::string package = compile_zoo(f, model, {"--require-device", "openvino/X64:0"});
    if (!package.empty()) check_answer(model, package);
  }
}

TEST_CASE("every model gives the right answers with every third node on openvino and the others on llvm_cpu") {
  if (!ready()) return;
  for (const fs::path& model : zoo()) check_every_kth(model, 3);
  for (const fs::path& model : trained()) check_every_kth(model, 3, true);
}

TEST_CASE("small models give the right answers with every second, fifth and seventh node on openvino") {
  if (!ready()) return;
  for (const size_t k : {2, 5, 7}) {
    check_every_kth(trained().front(), k);
    for (const char* name : {"bilstm.ts", "bilstm.dynamo", "squeezenet.ts"})
      if (fs::exists(zoo_model(name))) check_every_kth(zoo_model(name), k, k == 5 && name == std::string("bilstm.dynamo"));
  }
}

TEST_CASE("models give the right answers in random thirds: openvino, llvm_cpu, automatic") {
  if (!ready()) return;
  unsigned seed = 0;
  for (const fs::path& model : zoo())
    if (model.filename().string().ends_with(".ts.onnx")) check_thirds(model, ++seed);
  for (const fs::path& model : trained()) check_thirds(model, ++seed);
}
