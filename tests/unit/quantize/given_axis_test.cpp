// SPDX-License-Identifier: Apache-2.0
// Encodings of a format that names no axis, on weights whose operator does.
#include <doctest/doctest.h>

#include "core/onnx_io/onnx_io.hpp"
#include "core/quantize/quantize.hpp"
#include "tests/support/temp_folder.hpp"

using namespace optima;
using namespace optima::test;

namespace {

// Output channels of a MatMul are its weights' last axis: three here.
constexpr const char* kModel = R"(<ir_version: 10, opset_import: ["" : 21]>
product (float[1,2] x) => (float[1,3] y) <float[2,3] w = {1, 2, 3, -1, -2, -3}> {
  [product] y = MatMul(x, w)
})";

constexpr const char* kEncodings = R"({"version": "1.0.0", "param_encodings": [
  {"name": "w", "dtype": "INT", "bw": 8, "enc_type": "PER_CHANNEL", "is_sym": true, "scale": [0.5, 0.25, 0.125], "offset": [-128, -128, -128]}]})";

Result<Quantized> quantized(const std::string& encodings) {
  const TempFolder folder;
  OPTIMA_ASSIGN(Graph graph, onnx_io::load_model(folder.file("model.onnxtxt", kModel)));
  QuantizeOptions options;
  options.smooth = false;
  OPTIMA_ASSIGN(options.given, parse_encodings(encodings, "e.json"));
  OPTIMA_ASSIGN(const QuantizePlan plan, plan_quantization(std::move(graph), options));
  Observations seen(plan.taps);
  for (size_t tap = 0; tap < plan.taps.size(); ++tap) {
    OPTIMA_ASSIGN(Tensor t, Tensor::make(OPTIMA_F32, {1, plan.taps[tap].value == "x" ? 2 : 3}));
    for (size_t k = 0; k < t.as<float>().size(); ++k) t.as<float>()[k] = static_cast<float>(k) - 0.5F;
    OPTIMA_RETURN_IF_ERROR(seen.add(tap, t, "one"));
  }
  return quantize_graph(plan, seen, options);
}

}  // namespace

TEST_CASE("scales of a file that names no axis are those of the operator's output channels") {
  const Result<Quantized> done = quantized(kEncodings);
  REQUIRE_MESSAGE(done.ok(), done.status().message());
  const Encoding& w = done->encodings.weights.at("w");
  CHECK(w.axis == 1);
  CHECK(w.scale == std::vector<float>{0.5F, 0.25F, 0.125F});
}
