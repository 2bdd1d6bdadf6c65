// SPDX-License-Identifier: Apache-2.0
// Names of precisions.
#include "tests/unit/quantize_graph/harness.hpp"

using namespace optima;
using namespace optima::test;

TEST_CASE("every precision has a name that means it, and two have a second one") {
  for (const char* name : {"f32", "f16", "bf16", "int8", "a16w8", "a16w4", "w8", "w4", "dynamic", "auto"}) {
    const Result<Precision> precision = precision_named(name);
    REQUIRE(precision.ok());
    CHECK(name_of(*precision) == name);
  }
  CHECK(*precision_named("fp16") == Precision::F16);
  CHECK(*precision_named("int8w16a") == Precision::A16W8);
}

TEST_CASE("an unknown precision is a usage error that lists the known ones") {
  const Status status = precision_named("int7").status();
  CHECK(status.kind() == StatusKind::Usage);
  CHECK(status.message() == "found precision 'int7', wanted f32, f16, bf16, int8, a16w8, a16w4, w8, w4, dynamic or auto");
}

TEST_CASE("activations with scales of their own need data, weights alone do not") {
  for (Precision p : {Precision::Int8, Precision::A16W8, Precision::A16W4, Precision::Auto}) CHECK(needs_data(p));
  for (Precision p : {Precision::F32, Precision::F16, Precision::W8, Precision::W4, Precision::Dynamic}) CHECK(!needs_data(p));
}

TEST_CASE("16-bit codes of Sigmoid and Tanh use all codes, as Hexagon's compiler takes them") {
  const Graph graph = model("float[2,4] x", "float[2,3] y", {tensor("w", {4, 4}, 1), tensor("v", {4, 4}, 2), tensor("u", {4, 3}, 3)},
                            "a = MatMul (x, w)\n s = Sigmoid (a)\n b = MatMul (s, v)\n t = Tanh (b)\n y = MatMul (t, u)");
  QuantizeOptions options;
  options.precision = Precision::A16W8;
  const Quantized q = quantized(graph, samples_of(8), options);
  CHECK(q.encodings.activations.at("s").scale == std::vector<float>{1.0F / 65536});
  CHECK(q.encodings.activations.at("s").zero_point == std::vector<int32_t>{0});
  CHECK(q.encodings.activations.at("t").scale == std::vector<float>{1.0F / 32768});
  CHECK(q.encodings.activations.at("t").zero_point == std::vector<int32_t>{32768});
  options.precision = Precision::Int8;
  CHECK(quantized(graph, samples_of(8), options).encodings.activations.at("s").dtype == OPTIMA_U8);
}
