// SPDX-License-Identifier: Apache-2.0
#include "tests/support/coded_models.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>

#include "core/support/json.hpp"
#include "core/tensor_io/image.hpp"
#include "core/tensor_io/npy.hpp"
#include "tests/cli/models.hpp"
#include "tests/support/packaged_models.hpp"
#include "tests/support/process.hpp"

namespace fs = std::filesystem;

namespace optima::test {
namespace {

Tensor tensor(const std::vector<int64_t>& dims, const Numbers& numbers) {
  Result<Tensor> out = Tensor::make(OPTIMA_F32, dims);
  REQUIRE(out.ok());
  std::copy(numbers.begin(), numbers.end(), out->as<float>().data());
  return *out;
}

}  // namespace

Numbers normal(size_t count, uint32_t seed, double deviation) {
  std::mt19937 random(seed);
  Numbers out(count);
  for (float& x : out) {
    double sum = -6;
    for (int k = 0; k < 12; ++k) sum += static_cast<double>(random()) / 4294967296.0;
    x = static_cast<float>(sum * deviation);
  }
  return out;
}

Data normal_data(const TempFolder& f, const std::vector<int64_t>& dims, uint32_t samples) {
  size_t count = 1;
  for (int64_t d : dims) count *= static_cast<size_t>(d);
  Data out;
  for (uint32_t k = 0; k <= samples; ++k) out.judge = f.file((k == samples ? "judge/" : "samples/") + std::to_string(100 + k) + ".npy", write_npy(tensor(dims, normal(count, k + 1))));
  out.samples = f / "samples";
  return out;
}

Data face_data(const TempFolder& f) {
  constexpr int64_t kHeight = 240, kWidth = 320;
  int number = 100;
  Data out;
  for (const int64_t width : {320, 360, 400, 480, 560, 640, 720, 800}) {
    const int64_t height = width * 3 / 4, windows = width == kWidth ? 1 : 5;
    ImageOptions options;
    options.resize = std::to_string(width) + "x" + std::to_string(height);
    options.mean = {127.0 / 255}, options.std = {128.0 / 255};
    const Result<Tensor> whole = load_image(shared_models() + "/group.jpg", TensorInfo{"input", OPTIMA_F32, {1, 3, height, width}, {}, false}, options);
    REQUIRE(whole.ok());
    for (int64_t k = 0; k < windows; ++k) {
      const int64_t x = windows > 1 ? (width - kWidth) * k / (windows - 1) : 0, y = (height - kHeight) * (k % 3) / 2;
      Result<Tensor> part = Tensor::make(OPTIMA_F32, {1, 3, kHeight, kWidth});
      REQUIRE(part.ok());
      for (int64_t c = 0; c < 3; ++c)
        for (int64_t row = 0; row < kHeight; ++row)
          std::copy_n(whole->as<float>().data() + (c * height + y + row) * width + x, kWidth, part->as<float>().data() + (c * kHeight + row) * kWidth);
      out.judge = f.file((width == 560 ? "judge/" : "samples/") + std::to_string(number++) + ".npy", write_npy(*part));
    }
  }
  out.judge = fs::directory_iterator(f / "judge")->path();
  out.samples = f / "samples";
  return out;
}

Nearness nearness(const std::string& a, const std::string& b, const std::string& input) {
  std::vector<std::string> words{"--json", "compare", a, b, "--atol", "1000"};
  if (!input.empty()) words.insert(words.end(), {"--input", input});
  const Ran r = good(words);
  const Result<Json> document = parse_json(r.out, "compare --json");
  REQUIRE(document.ok());
  Nearness out;
  for (const Json& t : (*document)["tensors"]) {
    if (!t["cosine"].is_null()) out.cosine = std::min(out.cosine, t["cosine"].get<double>());
    if (!t["snr_db"].is_null()) out.snr_db = std::min(out.snr_db, t["snr_db"].get<double>());
  }
  return out;
}

double cosine(const std::string& model, const std::string& package, const std::string& input) { return nearness(model, package, input).cosine; }

void finds_nine(const std::string& package) {
  const Ran r = run({OPTIMA_BINARY_DIR "/bin/detect_faces", package, shared_models() + "/group.jpg", OPTIMA_BINARY_DIR "/lib/optima/plugins"});
  CAPTURE(r.err);
  CHECK(r.out.find("\n9 faces\n") != std::string::npos);
}

}  // namespace optima::test
