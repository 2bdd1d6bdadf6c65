// SPDX-License-Identifier: Apache-2.0
// Every model of build/models (scripts/make_models.py): whole on llvm_cpu, and with every third node pinned to the reference,
// against the outputs that ONNX Runtime gave, within 1e-4 of their scale.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/support/blob.hpp"
#include "core/support/json.hpp"
#include "core/tensor_io/compare.hpp"
#include "core/tensor_io/npy.hpp"
#include "tests/support/process.hpp"
#include "tests/support/temp_folder.hpp"

using namespace optima;
using namespace optima::test;
namespace fs = std::filesystem;

namespace {

std::vector<fs::path> zoo() {
  std::vector<fs::path> out;
  const fs::path folder = OPTIMA_SOURCE_DIR "/build/models";
  if (fs::is_directory(folder))
    for (const auto& e : fs::directory_iterator(folder))
      if (e.path().extension() == ".onnx") out.push_back(e.path());
  std::sort(out.begin(), out.end());
  return out;
}

// The files of NAME.data/ that start with the prefix, by what follows it: "input_ids.npy" -> "ids".
std::map<std::string, std::string> data_of(const fs::path& model, const std::string& prefix) {
  std::map<std::string, std::string> out;
  for (const auto& e : fs::directory_iterator(fs::path(model).replace_extension(".data"))) {
    const std::string stem = e.path().stem().string();
    if (stem.starts_with(prefix)) out[stem.substr(prefix.size())] = e.path().string();
  }
  return out;
}

Tensor read(const std::string& path) {
  const Result<Blob> bytes = map_file(path);
  REQUIRE(bytes.ok());
  Result<Tensor> t = read_npy({bytes->data, bytes->size}, path);
  REQUIRE(t.ok());
  return *t;
}

void check_package(const fs::path& model, const std::string& package) {
  const TempFolder f;
  std::vector<std::string> words = {"run", package, "-o", f / "got"};
  for (const auto& [name, file] : data_of(model, "input_")) words.insert(words.end(), {"--input", name + "=" + file});
  const Ran r = host(words);
  CAPTURE(r.err);
  REQUIRE(r.code == 0);
  const auto wanted = data_of(model, "output_");
  REQUIRE(!wanted.empty());
  for (const auto& [name, file] : wanted) {
    const Result<Comparison> c = compare_tensors(read(f / ("got/" + name + ".npy")), read(file));
    REQUIRE(c.ok());
    const std::string line = name + ": " + to_line(*c);
    CAPTURE(line);
    CHECK(c->within);
  }
}

// Pins every third node, in the order of the model, to the reference.
std::string every_third(const TempFolder& folder, const fs::path& model) {
  REQUIRE(host({"alloc", model.string(), "--default", "X64:0", "-o", folder / "all.json"}).code == 0);
  Result<Json> all = read_json(folder / "all.json");
  REQUIRE(all.ok());
  Json out = Json::object();
  size_t number = 0;
  for (const auto& [name, device] : all->items())
    if (number++ % 3 == 0) out[name] = "REF:0";
  return folder.file("third.json", to_text(out));
}

}  // namespace

TEST_CASE("every model of the zoo gives ONNX Runtime's answers, whole on llvm_cpu") {
  if (zoo().empty()) MESSAGE("SKIP: build/models is empty; scripts/make_models.py fills it");
  for (const fs::path& model : zoo()) {
    CAPTURE(model.filename().string());
    const TempFolder f;
    const Ran r = host({"compile", model.string(), "-o", f / "out", "--require-device", "X64:0"});
    CAPTURE(r.err);
    CHECK(r.code == 0);
    if (r.code == 0) check_package(model, f / ("out/" + model.stem().string()));
  }
}

TEST_CASE("every model of the zoo gives ONNX Runtime's answers, with every third node on the reference") {
  if (zoo().empty()) MESSAGE("SKIP: build/models is empty; scripts/make_models.py fills it");
  for (const fs::path& model : zoo()) {
    CAPTURE(model.filename().string());
    const TempFolder f;
    const Ran r = host({"compile", model.string(), "-o", f / "out", "--device", "X64:0", "--alloc", every_third(f, model)});
    CAPTURE(r.err);
    CHECK(r.code == 0);
    if (r.code == 0) check_package(model, f / ("out/" + model.stem().string()));
  }
}
