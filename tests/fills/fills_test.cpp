// SPDX-License-Identifier: Apache-2.0
// A device whose note says `quantizes: all`: of what it gets in int8 every float tensor is codes, of what others get none more than elsewhere.
#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/support/json.hpp"
#include "tests/support/process.hpp"
#include "tests/support/temp_folder.hpp"

using namespace optima;
using namespace optima::test;
namespace fs = std::filesystem;

namespace {

// Codes of 8 bits lose nothing of its weights.
constexpr const char* kModel = R"(<ir_version: 10, opset_import: ["" : 21]>
attention (float[3,4] x) => (float[3,4] y)
<float[4,4] w = {1.27, -0.25, 0.13, 0.5, 0.75, 1.27, -1, 0.25, -0.5, 1, 1.27, 0.13, 1, 0.25, -0.75, 1.27}, float[4] g = {1, 0.5, 2, 1}> {
  [query] q = MatMul(x, w)
  [turn] t = Transpose<perm = [1, 0]>(x)
  [score] s = MatMul(q, t)
  [weigh] p = Softmax(s)
  [value] v = MatMul(p, q)
  [norm] n = LayerNormalization(v, g)
  [last] y = MatMul(n, w)
})";

// Eight samples 3x4, an .npy each.
std::string data_in(const TempFolder& f) {
  const std::string head = "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }";
  for (int s = 0; s < 8; ++s) {
    std::string text = "\x93NUMPY\x01";
    text += '\0';
    const std::string padded = head + std::string(128 - 10 - head.size() - 1, ' ') + "\n";
    text += static_cast<char>(padded.size());
    text += '\0';
    text += padded;
    for (int i = 0; i < 12; ++i) {
      const float x = static_cast<float>((s * 31 + i * 17) % 23 - 11) / 8;
      text.append(reinterpret_cast<const char*>(&x), sizeof x);
    }
    f.file("data_" + std::to_string(s) + ".npy", text);
  }
  fs::create_directory(f / "data");
  for (int s = 0; s < 8; ++s) fs::rename(f / ("data_" + std::to_string(s) + ".npy"), f / ("data/" + std::to_string(s) + ".npy"));
  return f / "data";
}

Ran with_plugins(std::vector<std::string> words) {
  const std::string plugins = (fs::path(host_program()).parent_path() / "../lib/optima/plugins").string();
  words.insert(words.begin(), {"--plugins", plugins, "--plugins", FILLS_PLUGINS});
  return host(words);
}

std::map<std::string, std::string> precisions(const std::string& placement) {
  const Result<Json> plan = read_json(placement);
  REQUIRE(plan.ok());
  std::map<std::string, std::string> out;
  for (const Json& node : (*plan)["nodes"])
    if (node.contains("precision")) out[node["name"]] = node["precision"];
  return out;
}

}  // namespace

TEST_CASE("a device whose note wants all gets codes everywhere, and the package answers like the float model") {
  const TempFolder f;
  const std::string model = f.file("attention.onnxtxt", kModel), data = data_in(f);
  const Ran r = with_plugins({"compile", model, "-o", f / "out", "--device", "FIL:0", "--precision", "a16w8", "--calib", data});
  CAPTURE(r.out);
  CAPTURE(r.err);
  REQUIRE(r.code == 0);
  CHECK(r.out.find("7 nodes on FIL:0 with codes everywhere, as the note of its plugin wants it") != std::string::npos);
  for (const auto& [name, precision] : precisions(f / "out/attention/placement.json")) CHECK_MESSAGE(precision == "a16w8", name);
  const Result<Json> encodings = read_json(f / "out/attention/encodings.json");
  REQUIRE(encodings.ok());
  for (const char* value : {"x", "q", "t", "s", "p", "v", "n", "y"}) CHECK_MESSAGE((*encodings)["activations"].contains(value), value);
  const Ran compared = with_plugins({"compare", model, f / "out/attention", "--input", "x=" + data + "/3.npy", "--atol", "0.02", "--rtol", "0"});
  CAPTURE(compared.out);
  CHECK(compared.code == 0);
}

TEST_CASE("elsewhere the same model keeps its attention in float, and a split model has codes everywhere on that device alone") {
  const TempFolder f;
  const std::string model = f.file("attention.onnxtxt", kModel), data = data_in(f);
  const Ran r = with_plugins({"compile", model, "-o", f / "out", "--device", "REF:0", "--precision", "int8", "--calib", data});
  CAPTURE(r.err);
  REQUIRE(r.code == 0);
  const auto alone = precisions(f / "out/attention/placement.json");
  CHECK((alone.at("query") == "int8" && alone.at("score") == "f32" && alone.at("weigh") == "f32" && alone.at("norm") == "f32"));
  const Ran split = with_plugins({"compile", model, "-o", f / "split", "--device", "REF:0", "--precision", "int8", "--calib", data,  //
                                  "--pin", "score=FIL:0", "--pin", "weigh=FIL:0"});
  CAPTURE(split.out);
  CAPTURE(split.err);
  REQUIRE(split.code == 0);
  // Attention as codes wants 16 bits, and the reference has them.
  CHECK(split.out.find("2 of them have 16-bit activations: 8 bits leave attention and normalization nothing where everything is codes") != std::string::npos);
  const auto both = precisions(f / "split/attention/placement.json");
  CHECK((both.at("query") == "int8" && both.at("score") == "a16w8" && both.at("weigh") == "a16w8" && both.at("norm") == "f32"));
}
