// SPDX-License-Identifier: Apache-2.0
// plugins/bmcompiler over real models, by the programs that users run: whole on a TPU in F32 and split over several devices, on the emulators.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "core/support/json.hpp"
#include "tests/cli/models.hpp"
#include "tests/support/packaged_models.hpp"
#include "tests/support/process.hpp"
#include "tests/support/sophon_tools.hpp"
#include "tests/support/temp_folder.hpp"

using namespace optima;
using namespace optima::test;
namespace fs = std::filesystem;

namespace {

constexpr double kApart = 1e-4;  // of an output's scale

std::vector<std::string> for_chip(const std::string& chip, std::vector<std::string> words) {
  words.insert(words.end(), {"--option", "bmcompiler.chip=" + chip});
  return words;
}

}  // namespace

TEST_CASE("models are whole on a TPU in F32 and give ONNX Runtime's answers on the emulators of two chips") {
  if (!has_sophon_tools()) return;
  const TempFolder f;
  std::printf("%-16s %-8s %10s\n", "whole", "chip", "apart");
  for (const ModelFile& m : model_files({"mobilenet_v2", "resnet18", "vit_tiny"}))
    for (const std::string chip : {"bm1684x", "bm1684"}) {
      CAPTURE(m.name);
      CAPTURE(chip);
      const std::string package = compiled(f, m, m.name + chip, for_chip(chip, {"--require-device", "TPU:0"}));
      const double found = apart(f, m, package);
      std::printf("%-16s %-8s %10.2e\n", m.name.c_str(), chip.c_str(), found);
      CHECK(found <= kApart);
    }
}

TEST_CASE("models are split over TPU and processors by name, and keep their answers") {
  if (!has_sophon_tools()) return;
  check_splits("TPU:0", model_files({"resnet18"}), kApart);
}

TEST_CASE("compiling twice gives the same files, whatever the package is called, and so does the script beside them alone") {
  if (!has_sophon_tools()) return;
  const TempFolder f;
  const ModelFile m{"digits", digits_model(), ""};
  const std::string one = compiled(f, m, "one", {"--require-device", "TPU:0"});
  const std::string two = compiled(f, m, "two", {"--require-device", "TPU:0", "--name", "other"});
  int files = 0;
  for (const auto& entry : fs::directory_iterator(one + "/Subgraph_0")) {
    CAPTURE(entry.path().string());
    ++files;
    CHECK(get(entry.path()) == get(two + "/Subgraph_0/" + entry.path().filename().string()));
  }
  CHECK(files == 5);  // bmodel, module, weights, script, meta file
}

TEST_CASE("compiles for two chips at once do not disturb each other") {
  if (!has_sophon_tools()) return;
  const TempFolder f;
  const ModelFile m{"digits", digits_model(), ""};
  const std::vector<std::string> chips{"bm1684x", "bm1684"};
  std::vector<std::string> alone;
  for (const std::string& chip : chips) alone.push_back(get(compiled(f, m, "alone_" + chip, for_chip(chip, {"--require-device", "TPU:0"})) + "/Subgraph_0/subgraph_0.bmodel"));
  std::vector<Ran> ran(chips.size());
  std::vector<std::thread> threads;
  for (size_t k = 0; k < chips.size(); ++k)
    threads.emplace_back([&, k] { ran[k] = host(for_chip(chips[k], {"compile", m.path, "-o", f / ("beside_" + chips[k]), "--require-device", "TPU:0"})); });
  for (std::thread& t : threads) t.join();
  for (size_t k = 0; k < chips.size(); ++k) {
    CAPTURE(ran[k].err);
    REQUIRE(ran[k].code == 0);
    const std::string package = fs::directory_iterator(f / ("beside_" + chips[k]))->path();
    CHECK(get(package + "/Subgraph_0/subgraph_0.bmodel") == alone[k]);
  }
  const std::string package = fs::directory_iterator(f / ("beside_" + chips[0]))->path();
  std::string foreign = alone[1];
  foreign.resize(alone[0].size());
  for (const std::string& bytes : {alone[0].substr(0, alone[0].size() / 2), foreign}) {
    put(package + "/Subgraph_0/subgraph_0.bmodel", bytes);
    const Ran refused = host({"run", package, "--input", "random"});
    CHECK(refused.code == 3);
    CHECK_MESSAGE(refused.err.find("subgraph_0.bmodel'") != std::string::npos, refused.err);
  }
}

TEST_CASE("a chip that is not known is refused with its neighbour, one of the past by name, and a size that is open with the option that fixes it") {
  const TempFolder f;
  const auto refused = [&](const std::string& chip) { return host(for_chip(chip, {"compile", digits_model(), "-o", f / "out", "--device", "TPU:0"})); };
  const Ran unknown = refused("bm1694x");
  CHECK(unknown.code != 0);
  CHECK_MESSAGE(unknown.err.find("chip 'bm1694x' is not known, did you mean bm1684x?") != std::string::npos, unknown.err);
  const Ran past = refused("BM1682");
  CHECK(past.code != 0);
  CHECK_MESSAGE(past.err.find("wanted SOPHON's SDK for BM1682, whose folder bmcompiler.bmnet or REL_TOP names") != std::string::npos, past.err);
  const std::string places =
      f.file("places.onnxtxt", R"(<ir_version: 10, opset_import: ["" : 21]> g (float[3000,4] x, int64[5] at) => (float[5,4] y) { y = Gather<axis = 0>(x, at) })");
  const Ran blurred = host({"compile", places, "-o", f / "out3", "--device", "TPU:0", "--option", "bmcompiler.precision=f16"});
  CHECK(blurred.code == 4);
  CHECK_MESSAGE(blurred.err.find("places that are computed go up to 3000, and F16 holds whole numbers up to 2048") != std::string::npos, blurred.err);
  const std::string open = f.file("open.onnxtxt", R"(<ir_version: 10, opset_import: ["" : 21]> open (float[batch,4] x) => (float[batch,4] y) { y = Relu(x) })");
  const Ran size = host({"compile", open, "-o", f / "out2", "--device", "TPU:0"});
  CHECK(size.code != 0);
  CHECK_MESSAGE(size.err.find("--dim batch=N") != std::string::npos, size.err);
}

TEST_CASE("integers that floats of 16 bits do not hold come through, and exponentials of what masks") {
  if (!has_sophon_tools()) return;
  const TempFolder f;
  const std::string model = f.file("mixed.onnxtxt", R"(<ir_version: 10, opset_import: ["" : 21]> g (int64[1,4] a, float[1,4] x) => (int64[1,8] y, float[1,4] z)
    <int64[1] by = {10007}, float[1,4] mask = {0, -inf, 0, 0}> { m = Mod(a, by) y = Concat<axis = 1>(m, a) s = Add(x, mask) z = Softmax(s) })");
  const int64_t large[] = {123457, 99991, 20011, 10009};
  const std::string a = f.file("a.bin", {reinterpret_cast<const char*>(large), sizeof large});
  for (const std::string type : {"f16", "bf16"}) {
    CAPTURE(type);
    const Ran made = host({"compile", model, "-o", f / type, "--name", "m", "--require-device", "TPU:0", "--option", "bmcompiler.precision=" + type});
    CAPTURE(made.err);
    REQUIRE(made.code == 0);
    const Ran compared = host({"compare", model, f / (type + "/m"), "--input", "a=" + a, "--input", "x=random", "--atol", "0.01"});
    CHECK_MESSAGE(compared.code == 0, compared.out << compared.err);
  }
}
