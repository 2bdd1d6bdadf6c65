// SPDX-License-Identifier: Apache-2.0
// Hostile bytes: whatever is done to a model, the importer answers with a graph that verifies or with InvalidInput.
#include <doctest/doctest.h>

#include <filesystem>
#include <random>

#include "core/onnx_io/onnx_io.hpp"
#include "core/passes/pipeline.hpp"
#include "core/support/file.hpp"
#include "tests/support/temp_folder.hpp"

using namespace optima;

namespace {

constexpr int kModels = OPTIMA_FUZZ_MODELS;

std::vector<std::string> seeds() {
  std::vector<std::string> out;
  for (const char* name : {"mnist.onnx", "version-RFB-320.onnx"}) {
    const std::string path = std::string(OPTIMA_SOURCE_DIR) + "/../shared/models/" + name;
    if (std::filesystem::exists(path)) out.push_back(*read_file(path));
    else MESSAGE("SKIP: no file ", path);
  }
  test::TempFolder folder;
  for (const char* text : {R"(<ir_version: 8, opset_import: ["" : 17]> g (int64 n, bool c, float[2] x) => (float[2] y) <float[2] w = {1, 2}> {
                                y = Loop(n, c, x) <body = b (int64 i, bool ci, float[2] a) => (bool co, float[2] s) { co = Identity(ci)  s = Add(a, w) }> })",
                           R"(<ir_version: 8, opset_import: ["" : 12]> g (float[2,6,4] x) => (float[a,b,c] y) <int64[1] two = {2}> {
                                s = Shape(x)  d = Div(s, two)  h = Hardmax(x)  y = Reshape(h, d) })"}) {
    auto g = onnx_io::load_text(text, "seed");
    REQUIRE_MESSAGE(g.ok(), g.status().message());
    REQUIRE(onnx_io::write_onnx(*g, folder.path()).ok());
    out.push_back(*read_file(folder / "model.onnx"));
  }
  return out;
}

void mutate(std::string& bytes, std::mt19937_64& random) {
  auto place = [&] { return random() % bytes.size(); };
  for (uint64_t k = 1 + random() % 6; k > 0 && !bytes.empty(); --k) switch (random() % 6) {
      case 0: bytes[place()] = static_cast<char>(random()); break;
      case 1: bytes[place()] ^= static_cast<char>(1 << random() % 8); break;
      case 2: bytes.resize(place()); break;
      case 3: bytes.erase(place(), random() % 20); break;
      case 4: bytes.insert(place(), bytes.substr(place(), random() % 40)); break;
      default: bytes[random() % std::min<size_t>(bytes.size(), 400)] = static_cast<char>(random()); break;
    }
}

}  // namespace

TEST_CASE("mutated models are refused with one line or give a sound graph") {
  const std::vector<std::string> models = seeds();
  test::TempFolder folder;
  std::mt19937_64 random(1);
  int tried = 0, accepted = 0;
  for (; tried < kModels; ++tried) {
    std::string bytes = models[random() % models.size()];
    mutate(bytes, random);
    auto g = onnx_io::load_model(folder.file("m.onnx", bytes));
    if (!g.ok()) {
      CHECK(g.status().kind() == StatusKind::InvalidInput);
      CHECK(g.status().message().find('\n') == std::string::npos);
      continue;
    }
    ++accepted;
    CHECK(verify(*g).message() == "");
    auto done = passes::run_passes(std::move(*g));
    if (done.ok()) CHECK(verify(*done).message() == "");
    else CHECK(done.status().kind() == StatusKind::InvalidInput);
  }
  MESSAGE(tried, " mutated models, ", accepted, " accepted");
  CHECK(accepted > 0);
}
