// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

#include "core/onnx_io/onnx_io.hpp"

using namespace optima;

namespace {

// The trained models that lie beside the project; a test that needs one says so when it is not there.
std::string shared_model(const char* name) { return std::string(OPTIMA_SOURCE_DIR) + "/../shared/models/" + name; }
bool missing(const std::string& path) {
  if (std::filesystem::exists(path)) return false;
  MESSAGE("SKIP: no file ", path);
  return true;
}

int count(const Graph& g, const std::string& op) {
  return static_cast<int>(std::count_if(g.main().nodes.begin(), g.main().nodes.end(), [&](const auto& n) { return n.op_type == op; }));
}

}  // namespace

TEST_CASE("an old-style model with initializers among its inputs has only its real input left") {
  const std::string path = shared_model("mnist.onnx");
  if (missing(path)) return;
  auto loaded = onnx_io::load_model(path);
  REQUIRE_MESSAGE(loaded.ok(), loaded.status().message());
  const Graph& g = *loaded;
  CHECK(verify(g).message() == "");
  CHECK(g.model_name == "mnist");
  REQUIRE(g.main().inputs.size() == 1);
  CHECK(type_text(g.main().values[g.main().inputs[0]]) == "f32[1,1,28,28]");
  CHECK(g.main().values[g.main().outputs.at(0)].name == "Plus214_Output_0");
  CHECK(type_text(g.main().values[g.main().outputs[0]]) == "f32[1,10]");
  CHECK(count(g, "Conv") == 2);
  CHECK(g.main().nodes.size() == 12);
  CHECK(g.contents.opsets == std::vector<std::pair<std::string, int64_t>>{{"", 21}});
}

TEST_CASE("a trained detector of opset 9 arrives at opset 21 with every type known") {
  const std::string path = shared_model("version-RFB-320.onnx");
  if (missing(path)) return;
  auto loaded = onnx_io::load_model(path);
  REQUIRE_MESSAGE(loaded.ok(), loaded.status().message());
  const Graph& g = *loaded;
  CHECK(verify(g).message() == "");
  CHECK(g.model_hash.size() == 64);
  CHECK(count(g, "Conv") == 52);
  CHECK(count(g, "Constant") == 0);
  for (const image::Value& v : g.main().values) CHECK_MESSAGE(v.dtype != OPTIMA_UNDEFINED, v.name);
  const PackedGraph packed = pack(g, true);
  CHECK(image::verify(packed.bytes.data(), packed.bytes.size(), &packed.raw) == "");
  CHECK(print(g) == print(*onnx_io::load_model(path)));
}
