// SPDX-License-Identifier: Apache-2.0
// The trained face detector in int8: its answers beside those of the float model, on one backend and split over two, which are given codes.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/support/json.hpp"
#include "core/tensor_io/image.hpp"
#include "core/tensor_io/npy.hpp"
#include "tests/cli/models.hpp"
#include "tests/support/process.hpp"
#include "tests/support/temp_folder.hpp"

using namespace optima;
using namespace optima::test;
namespace fs = std::filesystem;

namespace {

constexpr int64_t kHeight = 240, kWidth = 320;
constexpr double kScoresDb = 43, kBoxesDb = 42;  // wanted of the worst of both on pictures that no range came from

std::string model() { return shared_models() + "/version-RFB-320.onnx"; }

bool ready() {
  if (shared_models().empty()) MESSAGE("SKIP: ../shared/models is not here");
  return !shared_models().empty();
}

/// The group photo at another size: `count` windows of the model's input from it, side by side, as (x - 127) / 128.
std::vector<Tensor> windows(int64_t width, int64_t count) {
  ImageOptions options;
  const int64_t height = width * 3 / 4;
  options.resize = std::to_string(width) + "x" + std::to_string(height);
  options.mean = {127.0 / 255}, options.std = {128.0 / 255};
  TensorInfo wanted{"input", OPTIMA_F32, {1, 3, height, width}, {}, false};
  const Result<Tensor> whole = load_image(shared_models() + "/group.jpg", wanted, options);
  INFO(whole.status().message());
  REQUIRE(whole.ok());
  std::vector<Tensor> out;
  for (int64_t k = 0; k < count; ++k) {
    const int64_t x = count > 1 ? (width - kWidth) * k / (count - 1) : 0, y = (height - kHeight) * (k % 3) / 2;
    Result<Tensor> part = Tensor::make(OPTIMA_F32, {1, 3, kHeight, kWidth});
    REQUIRE(part.ok());
    for (int64_t c = 0; c < 3; ++c)
      for (int64_t row = 0; row < kHeight; ++row)
        std::copy_n(whole->as<float>().data() + (c * height + y + row) * width + x, kWidth, part->as<float>().data() + (c * kHeight + row) * kWidth);
    out.push_back(*part);
  }
  return out;
}

std::string written(const TempFolder& f, const std::string& folder, const std::vector<int64_t>& widths) {
  fs::create_directories(f / folder);
  int number = 10;
  for (const int64_t width : widths)
    for (const Tensor& t : windows(width, width == kWidth ? 1 : 5)) f.file(folder + "/" + std::to_string(number++) + ".npy", write_npy(t));
  return f / folder;
}

Ran good(const std::vector<std::string>& words) {
  Ran r = host(words);
  CAPTURE(r.err);
  REQUIRE(r.code == 0);
  return r;
}

/// SNR of scores and boxes of two models or packages on one input, in dB.
std::pair<double, double> snr(const std::string& wanted, const std::string& got, const std::string& input) {
  const Ran r = host({"--json", "compare", wanted, got, "--input", input, "--atol", "100"});
  CAPTURE(r.err);
  REQUIRE(r.code == 0);
  const Result<Json> document = parse_json(r.out, "compare --json");
  REQUIRE(document.ok());
  std::pair<double, double> out{1e9, 1e9};
  for (const Json& t : (*document)["tensors"]) {
    if (t["snr_db"].is_null()) continue;  // equal
    (t["name"] == "scores" ? out.first : out.second) = t["snr_db"];
  }
  return out;
}

void finds_nine(const std::string& package) {
  const Ran r = run({OPTIMA_BINARY_DIR "/bin/detect_faces", package, shared_models() + "/group.jpg", OPTIMA_BINARY_DIR "/lib/optima/plugins"});
  CAPTURE(r.err);
  CHECK(r.out.find("\n9 faces\n") != std::string::npos);
}

std::string compiled(const TempFolder& f, const std::string& path, const std::string& folder, std::vector<std::string> words) {
  words.insert(words.begin(), {"compile", path, "-o", f / folder});
  good(words);
  for (const auto& entry : fs::directory_iterator(f / folder)) return entry.path();
  return {};
}

}  // namespace

TEST_CASE("the face detector keeps its answers in int8, and the nine faces, on one backend and split over two that hand codes over") {
  if (!ready()) return;
  const TempFolder f;
  const std::string samples = written(f, "calibrate", {kWidth, 480, 640, 800}), quantized = f / "q.onnx";
  const std::string judge = written(f, "judge", {560, 720});
  good({"quantize", model(), "--calib", samples, "-o", quantized});
  const std::string whole = compiled(f, quantized, "whole", {"--require-device", "X64:0"});
  for (const auto& entry : fs::directory_iterator(judge)) {
    const auto [scores, boxes] = snr(model(), whole, entry.path());
    CAPTURE(entry.path().string());
    CHECK(scores >= kScoresDb);
    CHECK(boxes >= kBoxesDb);
  }
  finds_nine(whole);

  if (!has_openvino()) {
    MESSAGE("SKIP: " << kNoOpenvino);
    return;
  }
  // The first convolutions on one, the rest on the other: what crosses is the codes between.
  good({"--json", "plan", quantized, "--device", "llvm_cpu/X64:0", "-o", f / "plan.json"});
  const Result<Json> plan = read_json(f / "plan.json");
  REQUIRE(plan.ok());
  Json allocation = Json::object();
  size_t convolutions = 0;
  for (const Json& n : (*plan)["nodes"])
    if (n["op"] == "Conv") allocation[n["name"].get<std::string>()] = ++convolutions <= 6 ? "llvm_cpu/X64:0" : "openvino/X64:0";
  const std::string split = compiled(f, quantized, "split", {"--device", "llvm_cpu/X64:0,openvino/X64:0", "--alloc", f.file("a.json", allocation.dump())});
  finds_nine(split);
  const std::string input = fs::directory_iterator(judge)->path();
  const auto [scores, boxes] = snr(whole, split, input);  // two ways to the same codes are closer to each other than to the float model
  CHECK(scores >= kScoresDb);
  CHECK(boxes >= kBoxesDb);
  const Result<Json> placed = read_json(split + "/placement.json");
  REQUIRE(placed.ok());
  size_t crossing = 0;
  for (const Json& cut : (*placed)["cuts"])
    for (const Json& tensor : (*placed)["tensors"]) {
      if (tensor["name"] != cut["name"]) continue;
      ++crossing;
      CHECK(tensor["type"].get<std::string>().starts_with("u8["));
    }
  CHECK(crossing > 0);
}
