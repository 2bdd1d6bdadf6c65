// SPDX-License-Identifier: Apache-2.0
// What a SDK's quantizer reads besides the model: overrides, samples, and the names of an ONNX file.
#include <doctest/doctest.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "tests/support/onnx_models.hpp"
#include "tests/support/temp_folder.hpp"
#include "toolchain/sdk_inputs.hpp"

using namespace optima;
using namespace snpe_plugin;

TEST_CASE("overrides count codes from 0: SNPE's worked example, and what is signed") {
  const float step = 2.3f / 255;
  const nlohmann::json all = nlohmann::json::parse(overrides_json({{"a", false, OPTIMA_U8, -1, 0, {step}, {200}}, {"b", true, OPTIMA_I32, -1, 0, {1}, {0}},
                                                                   {"c", true, OPTIMA_I8, 0, 0, {0.5f, 0.25f}, {0, 0}}, {"d", false, OPTIMA_U16, -1, 0, {1}, {0}},
                                                                   {"e", true, OPTIMA_I4, 1, 0, {1}, {0}}, {"f", true, OPTIMA_I4, 1, 32, {1}, {0}}}));
  const auto& a = all["activation_encodings"]["a"][0];
  CHECK(a["bitwidth"] == 8);
  CHECK(a["is_symmetric"] == "False");
  CHECK(a["offset"] == -200);
  CHECK(a["scale"].get<double>() == doctest::Approx(0.009020).epsilon(1e-4));
  CHECK(a["min"].get<double>() == doctest::Approx(-1.803922).epsilon(1e-6));
  CHECK(a["max"].get<double>() == doctest::Approx(0.496078).epsilon(1e-6));
  const auto& c = all["param_encodings"]["c"];
  REQUIRE(c.size() == 2);
  CHECK((c[1]["offset"] == -128 && c[1]["scale"] == 0.25 && c[1]["min"] == -32 && c[1]["max"] == 31.75 && c[1]["is_symmetric"] == "True"));
  CHECK(all["activation_encodings"]["d"][0]["max"] == 65535);
  CHECK((all["param_encodings"]["e"][0]["bitwidth"] == 4 && all["param_encodings"]["e"][0]["offset"] == -8));
  CHECK_FALSE(all["param_encodings"].contains("b"));
  CHECK_FALSE(all["param_encodings"].contains("f"));
}

TEST_CASE("bit widths are the widest there are") {
  CHECK(widths_of({}).activations == 8);
  const BitWidths w = widths_of({{"a", false, OPTIMA_U8, -1, 0, {1}, {0}}, {"b", false, OPTIMA_U16, -1, 0, {1}, {0}}, {"w", true, OPTIMA_I4, 0, 0, {1, 1}, {0, 0}}, {"c", true, OPTIMA_I32, 0, 0, {1, 1}, {0, 0}}});
  CHECK((w.activations == 16 && w.weights == 4 && w.per_channel));
}

TEST_CASE("names, operators, types and shapes are read from an ONNX file, weights are not inputs") {
  const test::TempFolder folder;
  const std::string path = folder.file("model.onnx", test::graph_model("g (float[1,n] x, int64[2] i, float[3] w) => (float[] y) <float[3] w = {1,2,3}> { a, b = Split (x) y = Add (a, w) }").SerializeAsString());
  const OnnxNames names = read_onnx_names(path);
  REQUIRE(names.nodes.size() == 2);
  CHECK((names.nodes[0].op == "Split" && names.nodes[0].outputs == std::vector<std::string>{"a", "b"}));
  REQUIRE(names.inputs.size() == 2);
  CHECK((names.inputs[0].name == "x" && names.inputs[0].dtype == OPTIMA_F32 && names.inputs[0].dims == std::vector<int64_t>{1, -1}));
  CHECK((names.inputs[1].name == "i" && names.inputs[1].dtype == OPTIMA_I64));
  REQUIRE(names.outputs.size() == 1);
  CHECK_THROWS_WITH_AS(read_onnx_names(folder.file("no.onnx", "\x3a\x70no model")), "no ONNX model: its fields end beyond its bytes", sdk::Error);
  CHECK_THROWS_AS(read_onnx_names(folder / "absent"), sdk::Error);
}

TEST_CASE("samples become raw float32 files, whatever the input's type, and a line each") {
  const test::TempFolder folder;
  OnnxNames model;
  model.inputs = {{"x", OPTIMA_F32, {2}}, {"ids", OPTIMA_I64, {2}}};
  Quantized data;
  data.samples = 2;
  data.read = [](uint32_t sample, uint32_t input) {
    const float x[2] = {1, static_cast<float>(sample)};
    const int64_t ids[2] = {7, sample};
    return input == 0 ? std::string(reinterpret_cast<const char*>(x), sizeof x) : std::string(reinterpret_cast<const char*>(ids), sizeof ids);
  };
  const std::string path = write_input_list(folder.path(), data, model);
  const std::string at = folder / "data/";
  CHECK(test::get(path) == "x:=" + at + "0_0.raw ids:=" + at + "0_1.raw\nx:=" + at + "1_0.raw ids:=" + at + "1_1.raw\n");
  float ids[2];
  const std::string bytes = test::get(at + "1_1.raw");
  REQUIRE(bytes.size() == sizeof ids);
  std::memcpy(ids, bytes.data(), sizeof ids);
  CHECK((ids[0] == 7 && ids[1] == 1));
  model.inputs.pop_back();
  CHECK(test::get(write_input_list(folder.path(), data, model)) == at + "0_0.raw\n" + at + "1_0.raw\n");
  model.inputs = {{"my x", OPTIMA_F32, {2}}, {"i", OPTIMA_I64, {2}}};
  CHECK_THROWS_WITH_AS(write_input_list(folder.path(), data, model), "input 'my x' holds blanks, which an input_list of SNPE cannot state", sdk::Error);
}

TEST_CASE("samples lie and are called as the DLC has its inputs") {
  const test::TempFolder folder;
  OnnxNames model;
  model.inputs = {{"a/x", OPTIMA_F32, {2, 3, 1, 2}}, {"y", OPTIMA_F32, {2}}};
  Quantized data;
  data.samples = 1;
  data.read = [](uint32_t, uint32_t input) {
    std::vector<float> all(input == 0 ? 12 : 2);
    for (size_t k = 0; k < all.size(); ++k) all[k] = static_cast<float>(k);
    return std::string(reinterpret_cast<const char*>(all.data()), all.size() * sizeof(float));
  };
  const std::string path = write_input_list(folder.path(), data, model, {{"a/x", "a_x", "NHWC"}});
  CHECK(test::get(path) == "a_x:=" + (folder / "data/0_0.raw") + " y:=" + (folder / "data/0_1.raw") + "\n");
  const std::string bytes = test::get(folder / "data/0_0.raw");
  std::vector<float> found(12);
  REQUIRE(bytes.size() == found.size() * sizeof(float));
  std::memcpy(found.data(), bytes.data(), bytes.size());
  CHECK(found == std::vector<float>{0, 2, 4, 1, 3, 5, 6, 8, 10, 7, 9, 11});
}
