// SPDX-License-Identifier: Apache-2.0
// `compile --device HEXAGON:0 --precision int8`: every model is taken whole by Qualcomm's tools and keeps its answers on their emulator.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/support/json.hpp"
#include "tests/cli/models.hpp"
#include "tests/support/coded_models.hpp"
#include "tests/support/onnx_models.hpp"
#include "tests/support/packaged_models.hpp"
#include "tests/support/process.hpp"
#include "tests/support/temp_folder.hpp"

using namespace optima;
using namespace optima::test;
namespace fs = std::filesystem;

namespace {

constexpr double kLeastCosine = 0.99;

bool has_wheels() {
  const bool there = fs::exists(OPTIMA_SOURCE_DIR "/.deps/qualcomm/bin/python");
  if (!there) MESSAGE("SKIP: Qualcomm's wheels are not in .deps/qualcomm; scripts/setup --with qualcomm puts them there");
  return there;
}

std::string numbers_text(const Numbers& numbers) {
  std::string out;
  for (float x : numbers) out += (out.empty() ? "" : ",") + std::to_string(x);
  return "{" + out + "}";
}

/// A GRU over 8 steps with a product behind it.
std::string gru(const TempFolder& f) {
  const std::string text = "g (float[8,1,12] x) => (float[8,1,5] y) <float[1,48,12] w = " + numbers_text(normal(48 * 12, 1, 0.25)) + ", float[1,48,16] r = " +
                           numbers_text(normal(48 * 16, 2, 0.2)) + ", float[1,96] b = " + numbers_text(normal(96, 3, 0.1)) + ", int64[1] axis = {1}, float[16,5] v = " +
                           numbers_text(normal(80, 4, 0.3)) + "> { h = GRU <hidden_size = 16, linear_before_reset = 1> (x, w, r, b) s = Squeeze (h, axis) y = MatMul (s, v) }";
  return f.file("gru.onnx", graph_model(text, 17).SerializeAsString());
}

std::string compiled(const TempFolder& f, const std::string& model, std::vector<std::string> words) {
  words.insert(words.begin(), {"compile", model, "-o", f / "out"});
  good(words);
  for (const auto& entry : fs::directory_iterator(f / "out")) return entry.path();
  return {};
}

void keeps_its_answers(const TempFolder& f, const std::string& name, const std::string& model, const Data& data, const std::string& precision = "int8") {
  CAPTURE(name);
  const std::string package = compiled(f, model, {"--require-device", "HEXAGON:0", "--precision", precision, "--calib", data.samples});
  const Result<Json> placed = read_json(package + "/placement.json");
  REQUIRE(placed.ok());
  CHECK((*placed)["subgraphs"].size() == 1);
  const double reached = cosine(model, package, data.judge);
  MESSAGE(name << " " << precision << " on HEXAGON:0: cosine " << reached << " against the float model");
  CHECK(reached >= kLeastCosine);
}

bool has_faces() {
  if (shared_models().empty()) MESSAGE("SKIP: ../shared/models is not here");
  return !shared_models().empty();
}

/// Of build/models.
void check_zoo(const std::string& name, const std::vector<int64_t>& dims) {
  if (!has_wheels()) return;
  const std::string model = OPTIMA_SOURCE_DIR "/build/models/" + name + ".ts.onnx";
  if (!fs::exists(model)) {
    MESSAGE("SKIP: build/models is empty; scripts/make_models.py fills it");
    return;
  }
  const TempFolder f;
  keeps_its_answers(f, name, model, normal_data(f, dims));
}

}  // namespace

TEST_CASE("the face detector in int8 keeps its answers and its nine faces") {
  if (!has_wheels() || !has_faces()) return;
  const TempFolder f;
  keeps_its_answers(f, "face detector", shared_models() + "/version-RFB-320.onnx", face_data(f));
  finds_nine(fs::directory_iterator(f / "out")->path());
}

TEST_CASE("the digits in int8, in 16-bit activations and with 4-bit weights keep their answers") {
  if (!has_wheels()) return;
  for (const char* precision : {"int8", "a16w8", "a16w4"}) {
    const TempFolder f;
    keeps_its_answers(f, "digits", digits_model(), normal_data(f, {1, 1, 32, 32}), precision);
  }
}

TEST_CASE("a GRU in int8 keeps its answers") {
  if (!has_wheels()) return;
  const TempFolder f;
  keeps_its_answers(f, "GRU", gru(f), normal_data(f, {8, 1, 12}));
}

TEST_CASE("ResNet-18 in int8 keeps its answers") { check_zoo("resnet18", {1, 3, 224, 224}); }
TEST_CASE("MobileNetV2 in int8 keeps its answers") { check_zoo("mobilenet_v2", {1, 3, 224, 224}); }
TEST_CASE("ViT-tiny in int8 keeps its answers, attention, normalizations and GELU included") { check_zoo("vit_tiny", {1, 3, 224, 224}); }

TEST_CASE("the face detector split over HEXAGON, llvm_cpu and openvino in int8 hands codes over and finds nine faces") {
  if (!has_wheels() || !has_faces()) return;
  if (!has_openvino()) {
    MESSAGE("SKIP: " << kNoOpenvino);
    return;
  }
  const TempFolder f;
  const Data samples = face_data(f);
  const std::string model = shared_models() + "/version-RFB-320.onnx", devices = "HEXAGON:0,llvm_cpu/X64:0,openvino/X64:0";
  good({"--json", "plan", model, "--device", "llvm_cpu/X64:0", "-o", f / "plan.json"});
  const Result<Json> plan = read_json(f / "plan.json");
  REQUIRE(plan.ok());
  Json allocation = Json::object();
  size_t convolutions = 0;
  for (const Json& n : (*plan)["nodes"])
    if (n["op"] == "Conv") {
      allocation[n["name"].get<std::string>()] = convolutions < 12 ? "HEXAGON:0" : convolutions < 24 ? "llvm_cpu/X64:0" : "openvino/X64:0";
      ++convolutions;
    }
  const std::string package = compiled(f, model, {"--device", devices, "--alloc", f.file("a.json", allocation.dump()), "--precision", "int8", "--calib", samples.samples});
  const Result<Json> placed = read_json(package + "/placement.json");
  REQUIRE(placed.ok());
  size_t codes = 0;
  for (const Json& cut : (*placed)["cuts"])
    for (const Json& t : (*placed)["tensors"])
      codes += t["name"] == cut["name"] && t["type"].get<std::string>().starts_with("u8[") ? 1 : 0;
  CHECK(codes > 0);
  CHECK(cosine(model, package, samples.judge) >= kLeastCosine);
  finds_nine(package);
}

TEST_CASE("what HEXAGON refuses as codes is refused for its codes, and is float by auto though nobody else is there") {
  if (!has_wheels()) return;
  const TempFolder f;
  const std::string model = f.file("net.onnx", graph_model("g (float[4,8] x) => (float[4,8] y) { a = Abs (x) y = LogSoftmax <axis = 1> (a) }", 17).SerializeAsString());
  const std::vector<std::string> words{"--calib", normal_data(f, {4, 8}).samples, "--scheme", "symmetric", "--device"};
  const auto with = [&](std::vector<std::string> first, const std::string& devices, const std::string& precision) {
    first.insert(first.end(), words.begin(), words.end());
    first.insert(first.end(), {devices, "--precision", precision});
    return first;
  };
  CHECK(host(with({"compile", model, "-o", f / "no"}, "HEXAGON:0", "int8")).code == 4);
  good(with({"plan", model, "-o", f / "plan.json"}, "HEXAGON:0,REF:0", "int8"));
  const Result<Json> plan = read_json(f / "plan.json");
  REQUIRE(plan.ok());
  for (const Json& n : (*plan)["nodes"])
    if (n["op"] == "LogSoftmax") CHECK(n["answers"]["HEXAGON:0"].value("reason", "") == "QUANT");
  good(with({"compile", model, "-o", f / "out"}, "HEXAGON:0", "auto"));
  const Result<Json> placed = read_json(f / "out/net/placement.json");
  REQUIRE(placed.ok());
  size_t found = 0;
  for (const Json& n : (*placed)["nodes"])
    if (n["op"] == "LogSoftmax") {
      ++found;
      CHECK(n["precision"] == "f32");
      CHECK(n["precision_why"].get<std::string>().starts_with("HEXAGON:0 refuses '"));
    }
  CHECK(found == 1);
}

TEST_CASE("int8 for HEXAGON without data says how many samples and how to give them") {
  const Ran r = host({"compile", digits_model(), "--device", "HEXAGON:0", "--precision", "int8", "-o", "nowhere"});
  CHECK(r.code == 3);
  CHECK(r.err.find("int8 wanted on HEXAGON:0 by --precision, no representative data: give --calib (50 to 100 samples), --encodings, or a quantized model") != std::string::npos);
}
