// SPDX-License-Identifier: Apache-2.0
#include "tests/cli/zoo.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/support/blob.hpp"
#include "core/support/json.hpp"
#include "core/tensor_io/compare.hpp"
#include "core/tensor_io/npy.hpp"
#include "tests/support/process.hpp"

namespace fs = std::filesystem;

namespace optima::test {
namespace {

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

}  // namespace

namespace {

std::vector<fs::path> models_of(const fs::path& folder) {
  std::vector<fs::path> out;
  if (fs::is_directory(folder))
    for (const auto& e : fs::directory_iterator(folder))
      if (e.path().extension() == ".onnx") out.push_back(e.path());
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

std::vector<fs::path> zoo() { return models_of(OPTIMA_SOURCE_DIR "/build/models"); }

std::vector<HalfModel> half_zoo() {
  std::vector<HalfModel> out;
  for (const fs::path& path : models_of(OPTIMA_SOURCE_DIR "/build/models/half")) out.push_back({path, path.stem().extension() == ".f16" ? 0x1p-9 : 0x1p-4});
  return out;
}

std::string compile_zoo(const TempFolder& folder, const fs::path& model, std::vector<std::string> words, size_t* subgraphs) {
  words.insert(words.begin(), {"--json", "compile", model.string(), "-o", folder / "out", "--force"});
  const Ran r = host(words);
  CAPTURE(r.err);
  CHECK(r.code == 0);
  if (r.code != 0) return {};
  const Result<Json> document = parse_json(r.out, "compile --json");
  REQUIRE(document.ok());
  if (subgraphs) *subgraphs = (*document)["subgraphs"].size();
  return (*document)["package"].get<std::string>();
}

void check_package(const fs::path& model, const std::string& package) { check_package(model, package, {host_program(), "run"}); }

void check_package(const fs::path& model, const std::string& package, std::vector<std::string> words, double share) {
  const TempFolder f;
  words.insert(words.end(), {package, "-o", f / "got"});
  for (const auto& [name, file] : data_of(model, "input_")) words.insert(words.end(), {"--input", name + "=" + file});
  const Ran r = run(words);
  CAPTURE(r.err);
  REQUIRE(r.code == 0);
  const auto wanted = data_of(model, "output_");
  REQUIRE(!wanted.empty());
  for (const auto& [name, file] : wanted) {
    const Tensor got = read(f / ("got/" + name + ".npy")), want = read(file);
    Result<Comparison> c = compare_tensors(got, want);
    REQUIRE(c.ok());
    c = compare_tensors(got, want, {share * (c->scale > 0 ? c->scale : 1), 0});
    REQUIRE(c.ok());
    const std::string line = name + ": " + to_line(*c);
    CAPTURE(line);
    CHECK(c->within);
  }
}

std::string allocation_by_number(const TempFolder& folder, const fs::path& model, const std::function<std::string(size_t)>& device_of) {
  REQUIRE(host({"alloc", model.string(), "--default", "X64:0", "-o", folder / "all.json"}).code == 0);
  const Result<Json> all = read_json(folder / "all.json");
  REQUIRE(all.ok());
  Json out = Json::object();
  size_t number = 0;
  for (const auto& entry : all->items())
    if (const std::string device = device_of(number++); !device.empty()) out[entry.key()] = device;
  return folder.file("by_number.json", to_text(out));
}

}  // namespace optima::test
