// SPDX-License-Identifier: Apache-2.0
// Channels of activations that are larger than the others.
#include "tests/unit/quantize_graph/harness.hpp"

using namespace optima;
using namespace optima::test;

namespace {

constexpr size_t kElements = 6 * 32;

// Normalized values with two loud channels, a product or two, and what `behind` makes of them.
Graph loud(const std::string& nodes) {
  Numbers scale = normal(32, 3, 0.1f);
  for (float& s : scale) s += 1;
  scale[5] = 40, scale[17] = -25;
  return model("float[6,32] x", "float[6,32] y", {tensor("scale", {32}, scale), tensor("shift", {32}, 4), tensor("w", {32, 32}, 5), tensor("v", {32, 32}, 6)},
               "n = LayerNormalization (x, scale, shift)\n" + nodes);
}
const std::string kAlone = "y = MatMul (n, w)", kTwo = "a = MatMul (n, w)\n b = MatMul (n, v)\n y = Mul (a, b)", kResidual = "a = MatMul (n, w)\n y = Add (a, n)";

Quantized smoothed(const Graph& graph, bool smooth, Precision precision = Precision::Int8) {
  QuantizeOptions options;
  options.smooth = smooth;
  options.precision = precision;
  return quantized(graph, samples_of(kElements), options);
}

}  // namespace

TEST_CASE("loud channels are divided in the normalization before the products, which gains more than a bit") {
  for (const std::string& nodes : {kAlone, kTwo}) {
    const Graph graph = loud(nodes);
    const Quantized q = smoothed(graph, true);
    CHECK(count_of(q.graph, "Mul") == count_of(graph, "Mul"));
    CHECK(count_of(q.graph, "QuantizeLinear") == 1);
    CHECK(quality(graph, q.graph, kElements) > quality(graph, smoothed(graph, false).graph, kElements) + 6);
  }
}

TEST_CASE("where others read the normalized value, too, a Mul divides it for the products") {
  const Graph graph = loud(kResidual);
  const Quantized q = smoothed(graph, true);
  CHECK(count_of(q.graph, "Mul") == 1);
  CHECK(q.encodings.activations.contains("n/smooth"));
  CHECK(q.encodings.smoothed.at("n").size() == 32);
  CHECK(quality(graph, q.graph, kElements) > quality(graph, smoothed(graph, false).graph, kElements) + 6);
}

TEST_CASE("smoothed models of floats compute what they did") {
  for (const std::string& nodes : {kAlone, kTwo, kResidual}) CHECK(quality(loud(nodes), smoothed(loud(nodes), true, Precision::A16W8).graph, kElements) > 35);
}

TEST_CASE("what is not worth it is left alone") {
  Numbers even = normal(32 * 32, 5);
  for (float& w : even) w = w < 0 ? -0.2f : 0.2f;
  const Graph graph = model("float[6,32] x", "float[6,32] y", {tensor("scale", {32}, Numbers(32, 1)), tensor("w", {32, 32}, even)}, "n = LayerNormalization (x, scale)\n y = MatMul (n, w)");
  Feeds signs = samples_of(kElements);
  for (std::vector<Numbers>& feed : signs)
    for (float& x : feed[0]) x = x < 0 ? -1.0f : 1.0f;
  QuantizeOptions options, without;
  without.smooth = false;
  CHECK(quantized(graph, signs, options).encodings == quantized(graph, signs, without).encodings);
}

TEST_CASE("dynamic products are smoothed, too, where data is there") {
  const Graph graph = loud(kAlone);
  CHECK(quality(graph, smoothed(graph, true, Precision::Dynamic).graph, kElements) > quality(graph, smoothed(graph, false, Precision::Dynamic).graph, kElements) + 6);
}

TEST_CASE("a value that is divided where it is made has another name, as it is another value") {
  const Quantized q = smoothed(loud(kAlone), true);
  CHECK(q.encodings.activations.contains("n/smooth"));
  CHECK_FALSE(q.encodings.activations.contains("n"));
  CHECK(coded_values(q.graph) == std::vector<std::string>{"n/smooth"});
}

TEST_CASE("encodings of a smoothed model make the same model once more, without data") {
  for (const std::string& nodes : {kAlone, kTwo, kResidual}) {
    const Graph graph = loud(nodes);
    QuantizeOptions plain, given;
    plain.correct_bias = given.correct_bias = false;  // which wants data
    const Quantized first = quantized(graph, samples_of(kElements), plain);
    given.given = first.encodings;
    const Quantized again = quantized(graph, {}, given);
    CHECK(again.encodings.smoothed == first.encodings.smoothed);
    CHECK(again.encodings.activations == first.encodings.activations);
    CHECK(answer(again.graph, samples_of(kElements)[0]) == answer(first.graph, samples_of(kElements)[0]));
  }
}

TEST_CASE("what has an encoding given is not divided, as that is of the value as it was") {
  const Graph graph = loud(kAlone);
  QuantizeOptions options;
  options.given.activations["n"] = smoothed(graph, false).encodings.activations.at("n");
  const Quantized q = quantized(graph, samples_of(kElements), options);
  CHECK(q.encodings.smoothed.empty());
  CHECK(q.encodings.activations.at("n") == options.given.activations.at("n"));
}

TEST_CASE("divisors that do not fit the model are refused by name") {
  const QuantizePlan plan = planned(loud(kAlone));
  const auto refused = [&](const std::string& value, size_t count) {
    QuantizeOptions options;
    options.given.smoothed[value] = Numbers(count, 2);
    return quantize_graph(plan, observed(plan, samples_of(kElements)), options).status().message();
  };
  CHECK(refused("n", 31) == "smoothed value 'n' of the encodings given: found 31 numbers, wanted 32, one a channel");
  CHECK(refused("m", 32) == "smoothed value 'm' of the encodings given is read by no product that is quantized");
}
