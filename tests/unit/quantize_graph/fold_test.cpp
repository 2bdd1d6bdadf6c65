// SPDX-License-Identifier: Apache-2.0
// BatchNormalizations and the weights before them.
#include "tests/unit/quantize_graph/harness.hpp"

using namespace optima;
using namespace optima::test;

namespace {

std::vector<std::string> norm(int64_t channels) {
  Numbers variance = normal(static_cast<size_t>(channels), 9);
  for (float& v : variance) v = 0.5f + v * v;
  return {tensor("gamma", {channels}, 6, 1), tensor("beta", {channels}, 7, 1), tensor("mean", {channels}, 8, 1), tensor("variance", {channels}, variance)};
}
std::vector<std::string> with_norm(std::vector<std::string> constants, int64_t channels) {
  for (std::string& one : norm(channels)) constants.push_back(std::move(one));
  return constants;
}
const std::string kNorm = "y = BatchNormalization <epsilon = 0.01> (c, gamma, beta, mean, variance)";

void check_folds(const Graph& graph, size_t elements) {
  const QuantizePlan plan = planned(graph);
  CHECK(count_of(plan.graph, "BatchNormalization") == 0);
  REQUIRE(plan.graph.folded.size() == 1);
  CHECK(plan.graph.folded[0].op_type == "BatchNormalization");
  CHECK(plan.graph.folded[0].reason == "batch normalization");
  CHECK(quality(graph, plan.graph, elements) > 120);
}

}  // namespace

TEST_CASE("a batch normalization goes into the convolution before it, whose name, id and weights' name stay") {
  const Graph graph = model("float[1,2,5,5] x", "float[1,3,3,3] y", with_norm({tensor("w", {3, 2, 3, 3}, 1)}, 3), "c = Conv (x, w)\n" + kNorm);
  check_folds(graph, 50);
  const QuantizePlan plan = planned(graph);
  CHECK(plan.graph.main().nodes[0].name == graph.main().nodes[0].name);
  CHECK(plan.graph.main().nodes[0].id == graph.main().nodes[0].id);
  CHECK(plan.graph.main().values[plan.graph.main().nodes[0].inputs[1]].name == "w");
}

TEST_CASE("a batch normalization goes into a transposed convolution with groups") {
  check_folds(model("float[1,4,3,3] x", "float[1,6,5,5] y", with_norm({tensor("w", {4, 3, 3, 3}, 1), tensor("b", {6}, 2)}, 6),
                    "c = ConvTranspose <group = 2> (x, w, b)\n" + kNorm),
              36);
}

TEST_CASE("a batch normalization goes into a product with transposed weights and a factor") {
  check_folds(model("float[2,4] x", "float[2,3] y", with_norm({tensor("w", {3, 4}, 1), tensor("b", {3}, 2)}, 3), "c = Gemm <transB = 1, alpha = 0.5> (x, w, b)\n" + kNorm), 8);
}

TEST_CASE("a batch normalization stays where somebody else reads the convolution") {
  const Graph graph = model("float[1,2,5,5] x", "float[1,3,3,3] y, float[1,3,3,3] z", with_norm({tensor("w", {3, 2, 3, 3}, 1)}, 3), "c = Conv (x, w)\n z = Neg (c)\n" + kNorm);
  CHECK(count_of(planned(graph).graph, "BatchNormalization") == 1);
}

TEST_CASE("weights that two convolutions read stay for the one without a normalization") {
  const Graph graph = model("float[1,2,5,5] x", "float[1,3,3,3] s", with_norm({tensor("w", {3, 2, 3, 3}, 1)}, 3),
                            "c = Conv (x, w)\n n = Conv (x, w)\n" + kNorm + "\n s = Sub (y, n)");
  check_folds(graph, 50);
}

TEST_CASE("nothing is folded for precisions without codes") {
  const Graph graph = model("float[1,2,5,5] x", "float[1,3,3,3] y", with_norm({tensor("w", {3, 2, 3, 3}, 1)}, 3), "c = Conv (x, w)\n" + kNorm);
  QuantizeOptions options;
  options.precision = Precision::F16;
  CHECK(count_of(planned(graph, options).graph, "BatchNormalization") == 1);
  const Quantized narrow = quantized(graph, {}, options);
  CHECK(count_of(narrow.graph, "BatchNormalization") == 1);
  CHECK(narrow.encodings.activations.at("y").dtype == OPTIMA_F16);
}
