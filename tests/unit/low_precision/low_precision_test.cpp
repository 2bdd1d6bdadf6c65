// SPDX-License-Identifier: Apache-2.0
#include "core/quantize/low_precision.hpp"

#include <doctest/doctest.h>

#include "core/tensor_io/half.hpp"

using namespace optima;

namespace {

image::Value tensor(const std::string& name, const std::vector<int64_t>& dims, uint32_t constant = OPTIMA_NONE) {
  image::Value v{name, OPTIMA_F32, std::vector<image::Dim>{}, constant, OPTIMA_KIND_TENSOR};
  for (const int64_t d : dims) v.dims->push_back({d, ""});
  return v;
}

void add_node(Graph& g, const std::string& op, int version, std::vector<uint32_t> inputs, uint32_t output) {
  const auto id = static_cast<uint32_t>(g.origins.size());
  const std::string name = op + "_" + std::to_string(id);
  g.main().nodes.push_back({name, op, "", id, version, std::move(inputs), {output}, {}});
  g.origins.push_back({name, 21});
}

// x[2,2] -> MatMul(w) -> y -> Relu -> r; x -> MatMul(w) -> z; MatMul(r, z) -> s. y, r and s are outputs.
Graph sample(float largest = 1.00390625f) {
  Graph g;
  g.contents.opsets = {{"", 21}};
  g.contents.constants = {{OPTIMA_F32, {2, 2}, 0}};
  const float w[] = {largest, -2, 0.5f, 3};
  g.blobs = {Blob::copy(w, sizeof w)};
  g.contents.graphs.resize(1);
  image::Graph& m = g.main();
  m.name = "main";
  m.values = {tensor("x", {2, 2}), tensor("w", {2, 2}, 0), tensor("y", {2, 2}), tensor("r", {2, 2}), tensor("z", {2, 2}), tensor("s", {2, 2})};
  m.inputs = {0}, m.outputs = {2, 3, 5};
  add_node(g, "MatMul", 13, {0, 1}, 2);
  add_node(g, "Relu", 14, {2}, 3);
  add_node(g, "MatMul", 13, {0, 1}, 4);
  add_node(g, "MatMul", 13, {3, 4}, 5);
  return g;
}

QuantizeOptions all_in(Precision precision) {
  QuantizeOptions options;
  options.precision = precision;
  return options;
}

std::string inputs_of(const Graph& g, size_t node) {
  std::string out;
  for (const uint32_t v : g.main().nodes[node].inputs) out += (out.empty() ? "" : " ") + g.main().values[v].name;
  return out;
}

std::string operators_of(const Graph& g) {
  std::string out;
  for (const image::Node& n : g.main().nodes) out += (out.empty() ? "" : " ") + n.op_type;
  return out;
}

}  // namespace

TEST_CASE("weighted products read and give bf16, the rest and all names stay") {
  const LowPrecision low = to_low_precision(sample(), all_in(Precision::BF16));
  const Status sound = verify(low.graph);
  INFO(sound.message());
  REQUIRE(sound.ok());
  CHECK(operators_of(low.graph) == "Cast MatMul Cast Relu MatMul Cast MatMul");
  CHECK(inputs_of(low.graph, 0) == "x");
  CHECK(inputs_of(low.graph, 1) == "x/bf16 w/bf16");
  CHECK(inputs_of(low.graph, 2) == "y/bf16");
  CHECK(inputs_of(low.graph, 4) == "x/bf16 w/bf16");
  CHECK(inputs_of(low.graph, 6) == "r z");
  CHECK(low.graph.main().nodes[1].name == "MatMul_0");
  const image::Graph& m = low.graph.main();
  CHECK(m.values[m.outputs[0]].name == "y");
  CHECK(m.values[m.outputs[0]].dtype == OPTIMA_F32);
  REQUIRE(low.left.size() == 1);
  CHECK(low.left[0] == LeftFloat{"MatMul_3", "its weights are computed"});
}

TEST_CASE("constants are rounded to nearest even, held once, and the f32 ones are gone") {
  const LowPrecision low = to_low_precision(sample(), all_in(Precision::BF16));
  REQUIRE(low.graph.contents.constants.size() == 1);
  CHECK(low.graph.contents.constants[0].dtype == OPTIMA_BF16);
  const Blob& blob = low.graph.blobs[low.graph.contents.constants[0].blob];
  REQUIRE(blob.size == 8);
  uint16_t bits[4];
  std::memcpy(bits, blob.data, sizeof bits);
  CHECK(float_of_bfloat(bits[0]) == 1.0f);  // a tie
  CHECK(float_of_bfloat(bits[1]) == -2.0f);
}

TEST_CASE("nodes are chosen one by one") {
  QuantizeOptions options = all_in(Precision::F32);
  options.by_node[2] = Precision::F16;
  const LowPrecision low = to_low_precision(sample(), options);
  CHECK(operators_of(low.graph) == "MatMul Relu Cast MatMul Cast MatMul");
  CHECK(inputs_of(low.graph, 0) == "x w");
  CHECK(inputs_of(low.graph, 3) == "x/f16 w/f16");
  CHECK(low.left.empty());
}

TEST_CASE("a constant that f16 cannot hold keeps its node in f32, and says so") {
  const LowPrecision low = to_low_precision(sample(70000), all_in(Precision::F16));
  REQUIRE(low.left.size() == 3);
  CHECK(low.left[0].node == "MatMul_0");
  CHECK(low.left[0].why.find("holds 70000, f16 ends at 65504") != std::string::npos);
  CHECK(to_low_precision(sample(70000), all_in(Precision::BF16)).left.size() == 1);
}

TEST_CASE("nothing wanted, nothing changed") {
  const Graph before = sample();
  CHECK(print(to_low_precision(before, all_in(Precision::F32)).graph) == print(before));
  CHECK(print(to_low_precision(before, all_in(Precision::Int8)).graph) == print(before));
}

TEST_CASE("a convolution of bf16 is of the version that has it") {
  Graph g = sample();
  g.main().nodes.resize(1);
  g.main().nodes[0].op_type = "Conv", g.main().nodes[0].since_version = 11;
  g.main().outputs = {2};
  const LowPrecision bf16 = to_low_precision(g, all_in(Precision::BF16)), f16 = to_low_precision(g, all_in(Precision::F16));
  CHECK(bf16.graph.main().nodes[1].since_version == 22);
  CHECK(bf16.graph.contents.opsets[0].second == 22);
  CHECK(f16.graph.main().nodes[1].since_version == 11);
  CHECK(f16.graph.contents.opsets[0].second == 21);
}

TEST_CASE("quantize_graph makes these casts, without data") {
  const QuantizeOptions options = all_in(Precision::BF16);
  const Result<QuantizePlan> plan = plan_quantization(sample(), options);
  REQUIRE(plan.ok());
  CHECK(plan->taps.empty());
  const Result<Quantized> made = quantize_graph(*plan, Observations(plan->taps), options);
  REQUIRE(made.ok());
  CHECK(operators_of(made->graph) == "Cast MatMul Cast Relu MatMul Cast MatMul");
  REQUIRE(made->encodings.left_float.size() == 1);
  CHECK(made->encodings.left_float[0].node == "MatMul_3");
}
