// SPDX-License-Identifier: Apache-2.0
// plugins/bmcompiler: models whose last part runs on a TPU and the rest on a processor. Only little is on the TPU: emulating is what takes time.
#include <doctest/doctest.h>

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/support/json.hpp"
#include "tests/cli/models.hpp"
#include "tests/support/coded_models.hpp"
#include "tests/support/packaged_models.hpp"
#include "tests/support/sophon_tools.hpp"

using namespace optima;
using namespace optima::test;
namespace fs = std::filesystem;

namespace {

struct Split {
  const char* model;
  const char* chip;
  double share;  ///< of the operators, that is on the TPU
};

const ModelFile* model_of(const std::vector<ModelFile>& models, const std::string& name) {
  for (const ModelFile& m : models)
    if (m.name == name) return &m;
  return nullptr;  // model_files() has said so
}

/// The package of a split, which has subgraphs on both devices and so tensors that cross.
std::string split(const TempFolder& f, const ModelFile& m, const Split& s, std::vector<std::string> words) {
  const std::string x64 = "llvm_cpu/X64:0", tpu = "TPU:0";
  words.insert(words.end(), {"--device", x64 + "," + tpu, "--alloc", cut_before(f, m, s.share, x64, tpu), "--option", std::string("bmcompiler.chip=") + s.chip});
  const std::string package = compiled(f, m, m.name + s.chip, words);
  const Result<Json> placed = read_json(package + "/placement.json");
  REQUIRE(placed.ok());
  bool on_tpu = false, on_x64 = false;
  for (const Json& part : (*placed)["subgraphs"]) (part["device"] == "TPU:0" ? on_tpu : on_x64) = true;
  CHECK(on_tpu);
  CHECK(on_x64);
  CHECK_FALSE((*placed)["cuts"].empty());
  return package;
}

}  // namespace

TEST_CASE("the last part of a model on a TPU in F32 goes on from what a processor gives, on two chips") {
  if (!has_sophon_tools()) return;
  const TempFolder f;
  const std::vector<ModelFile> models = model_files({"mobilenet_v2", "resnet18", "vit_tiny"});
  std::printf("%-16s %-8s %10s\n", "last part", "chip", "apart");
  for (const auto& [name, share] : {std::pair{"face detector", 0.3}, {"mobilenet_v2", 0.2}, {"resnet18", 0.2}, {"vit_tiny", 0.08}})
    for (const char* chip : {"bm1684x", "bm1684"}) {
      const ModelFile* m = model_of(models, name);
      if (!m) continue;
      CAPTURE(name);
      CAPTURE(chip);
      const double found = apart(f, *m, split(f, *m, {name, chip, share}, {}));
      std::printf("%-16s %-8s %10.2e\n", name, chip, found);
      CHECK(found <= 1e-4);
    }
}

TEST_CASE("the last part of a model on a TPU in int8 goes on from a processor's codes and keeps the answers") {
  if (!has_sophon_tools()) return;
  const std::vector<ModelFile> models = model_files({"mobilenet_v2", "resnet18", "vit_tiny"});
  for (const Split& s : {Split{"face detector", "bm1684x", 0.3}, {"mobilenet_v2", "bm1684", 0.2}, {"resnet18", "bm1684x", 0.2}, {"vit_tiny", "bm1684", 0.08}}) {
    const ModelFile* m = model_of(models, s.model);
    if (!m) continue;
    CAPTURE(m->name);
    CAPTURE(s.chip);
    const TempFolder f;
    const Data data = m->data.empty() ? face_data(f) : normal_data(f, {1, 3, 224, 224}, 4);
    const double reached = cosine(m->path, split(f, *m, s, {"--precision", "int8", "--calib", data.samples}), data.judge);
    std::printf("%-16s %-8s %10.5f cosine\n", s.model, s.chip, reached);
    CHECK(reached >= 0.99);
  }
}
