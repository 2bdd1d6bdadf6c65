// SPDX-License-Identifier: Apache-2.0
// Codes of weights and biases.
#include <numeric>

#include "core/quantize/tpu_names.hpp"
#include "core/support/json_value.hpp"
#include "tests/unit/quantize_graph/harness.hpp"

using namespace optima;
using namespace optima::test;

namespace {

QuantizeOptions with(Precision precision) {
  QuantizeOptions options;
  options.precision = precision;
  return options;
}

int64_t attribute(const image::Node& node, const std::string& name) {
  for (const image::Attr& a : node.attrs)
    if (a.name == name) return a.i;
  return -100;
}

const image::Node& reader_of(const Graph& graph, const std::string& codes) {
  for (const image::Node& n : graph.main().nodes)
    if (n.op_type == "DequantizeLinear" && graph.main().values[n.inputs[0]].name == codes) return n;
  FAIL("nobody reads " << codes);
  return graph.main().nodes[0];
}

// Inputs whose mean is far from 0: what bias correction is for.
Feeds shifted(size_t elements, size_t count = 8) {
  Feeds out = samples_of(elements, count, 0.3f);
  for (std::vector<Numbers>& feed : out)
    for (float& x : feed[0]) x += 2;
  return out;
}

double error_of_mean(const Graph& graph, const Graph& codes, const Feeds& feeds) {
  double lost = 0, count = 0;
  for (const std::vector<Numbers>& feed : feeds) {
    const Numbers a = answer(graph, feed), b = answer(codes, feed);
    for (size_t i = 0; i < a.size(); ++i, ++count) lost += static_cast<double>(b[i] - a[i]);
  }
  return std::fabs(lost / count);
}

}  // namespace

TEST_CASE("scales lie along the output channels of each kind of product, and one code of each channel is 127") {
  struct Case {
    const char* x;
    const char* y;
    std::vector<int64_t> dims;
    const char* node;
    int64_t axis;
    size_t elements;
  };
  const Case cases[] = {{"float[1,4,5,5] x", "float[1,6,3,3] y", {6, 4, 3, 3}, "y = Conv (x, w)", 0, 100},
                        {"float[1,4,5,5] x", "float[1,8,3,3] y", {8, 2, 3, 3}, "y = Conv <group = 2> (x, w)", 0, 100},
                        {"float[1,4,3,3] x", "float[1,6,5,5] y", {4, 3, 3, 3}, "y = ConvTranspose <group = 2> (x, w)", 1, 36},
                        {"float[3,4] x", "float[3,6] y", {4, 6}, "y = Gemm (x, w)", 1, 12},
                        {"float[3,4] x", "float[3,6] y", {6, 4}, "y = Gemm <transB = 1, alpha = 0.5> (x, w)", 0, 12},
                        {"float[2,3,4] x", "float[2,3,6] y", {4, 6}, "y = MatMul (x, w)", 1, 24},
                        {"float[2,3,4] x", "float[2,3,6] y", {2, 4, 6}, "y = MatMul (x, w)", 2, 24}};
  for (const Case& c : cases) {
    CAPTURE(c.node);
    Numbers w = normal(static_cast<size_t>(std::accumulate(c.dims.begin(), c.dims.end(), int64_t{1}, std::multiplies<>())), 5, 0.2f);
    int64_t behind = 1;
    for (size_t d = static_cast<size_t>(c.axis) + 1; d < c.dims.size(); ++d) behind *= c.dims[d];
    const int64_t channels = c.dims[static_cast<size_t>(c.axis)];
    for (size_t e = 0; e < w.size(); ++e) w[e] *= std::exp2(static_cast<float>(static_cast<int64_t>(e) / behind % channels));
    const Graph graph = model(c.x, c.y, {tensor("w", c.dims, w)}, c.node);
    const Quantized q = quantized(graph, samples_of(c.elements));
    CHECK(attribute(reader_of(q.graph, "w/q"), "axis") == c.axis);
    CHECK(q.encodings.weights.at("w").axis == c.axis);
    REQUIRE(q.encodings.weights.at("w").scale.size() == static_cast<size_t>(channels));
    const std::vector<int8_t> codes = bytes_of(q.graph, "w/q");
    std::vector<int> most(static_cast<size_t>(channels));
    for (size_t e = 0; e < codes.size(); ++e) {
      int& m = most[static_cast<size_t>(static_cast<int64_t>(e) / behind % channels)];
      m = std::max(m, std::abs(static_cast<int>(codes[e])));
    }
    for (int m : most) CHECK(m == 127);
    CHECK(quality(graph, q.graph, c.elements) > 35);
  }
}

TEST_CASE("a bias is 32 bits with the step of the sums") {
  const Graph graph = model("float[3,4] x", "float[3,6] y", {tensor("w", {4, 6}, 1), tensor("b", {6}, 2)}, "y = Gemm <alpha = 2.0> (x, w, b)");
  const Quantized q = quantized(graph, samples_of(12));
  const Encoding& b = q.encodings.weights.at("b");
  CHECK(b.dtype == OPTIMA_I32);
  const float step = 2 * q.encodings.activations.at("x").scale[0] * q.encodings.weights.at("w").scale[3];
  CHECK(b.scale[3] == doctest::Approx(step));
  CHECK(quality(graph, q.graph, 12) > 35);
}

TEST_CASE("where a bias would leave 32 bits the weights' step grows") {
  const Graph graph = model("float[3,4] x", "float[3,2] y", {tensor("w", {4, 2}, Numbers{1e-9f, 1, 2e-9f, 1, 1e-9f, 1, 1e-9f, 1}), tensor("b", {2}, Numbers{1000, 1})}, "y = Gemm (x, w, b)");
  const Quantized q = quantized(graph, samples_of(12));
  CHECK(q.encodings.weights.at("w").scale[0] > 1e-9f / 64);
  CHECK(q.encodings.weights.at("w").scale[1] == doctest::Approx(1.0 / 127));
  CHECK(quality(graph, q.graph, 12) > 60);
}

TEST_CASE("a bias that the rest of the model makes, or that is scaled, stays float") {
  const Graph graph = model("float[3,4] x, float[6] b", "float[3,6] y", {tensor("w", {4, 6}, 1)}, "y = Gemm (x, w, b)");
  const Quantized q = quantized(graph, {{normal(12, 1), normal(6, 2)}, {normal(12, 3), normal(6, 4)}});
  CHECK(q.graph.main().values[node_named(q.graph, graph.main().nodes[0].name).inputs[2]].name == "b");
}

TEST_CASE("bias correction takes the mean of what rounding loses away, in the bias, in a new bias and in the Add behind a MatMul") {
  const std::vector<int64_t> dims{16, 3};
  const std::string w = tensor("w", dims, 3), b = tensor("b", {3}, 4);
  const Graph graphs[] = {model("float[4,16] x", "float[4,3] y", {w, b}, "y = Gemm (x, w, b)"), model("float[4,16] x", "float[4,3] y", {w}, "y = Gemm (x, w)"),
                          model("float[4,16] x", "float[4,3] y", {w, b}, "m = MatMul (x, w)\n y = Add (m, b)")};
  for (const Graph& graph : graphs)
    for (const Precision precision : {Precision::W4, Precision::W8}) {
      QuantizeOptions options = with(precision), without = options;
      without.correct_bias = false;
      const double plain = error_of_mean(graph, quantized(graph, shifted(64), without).graph, shifted(64));
      const double corrected = error_of_mean(graph, quantized(graph, shifted(64), options).graph, shifted(64));
      CHECK(plain > 1e-4);
      CHECK(corrected < plain / 20);
    }
}

TEST_CASE("what was corrected is among the encodings, which make the same model without samples") {
  const std::string w = tensor("w", {16, 3}, 3), b = tensor("b", {3}, 4);
  const Graph graphs[] = {model("float[4,16] x", "float[4,3] y", {w, b}, "y = Gemm (x, w, b)"), model("float[4,16] x", "float[4,3] y", {w}, "y = Gemm (x, w)"),
                          model("float[4,16] x", "float[4,3] y", {w, b}, "m = MatMul (x, w)\n y = Add (m, b)")};
  for (const Graph& graph : graphs) {
    QuantizeOptions options;
    const Quantized seen = quantized(graph, shifted(64), options);
    REQUIRE(seen.encodings.corrected.size() == 1);
    CHECK(seen.encodings.corrected.begin()->second.size() == 3);
    options.given = *parse_encodings(to_json(seen.encodings).dump(), "e.json");
    const Quantized again = quantized(graph, {}, options);
    CHECK(answer(again.graph, shifted(64)[0]) == answer(seen.graph, shifted(64)[0]));
    CHECK(again.encodings.corrected == seen.encodings.corrected);
    options.given.corrected.begin()->second.pop_back();
    const QuantizePlan plan = planned(graph, options);
    CHECK(quantize_graph(plan, observed(plan, {}), options).status().message() ==
          cat("corrected value '", seen.encodings.corrected.begin()->first, "' of the encodings given: found 2 numbers, wanted 3, one for each channel"));
  }
}

TEST_CASE("bias correction knows the groups of a convolution and the strides of a transposed one") {
  const Graph graphs[] = {model("float[1,4,9,9] x", "float[1,6,9,9] y", {tensor("w", {6, 2, 1, 1}, 3), tensor("b", {6}, 4)}, "y = Conv <group = 2> (x, w, b)"),
                          model("float[1,4,9,9] x", "float[1,6,18,18] y", {tensor("w", {4, 3, 2, 2}, 3), tensor("b", {6}, 4)},
                                "y = ConvTranspose <group = 2, strides = [2,2]> (x, w, b)")};
  for (const Graph& graph : graphs) {
    QuantizeOptions options = with(Precision::W8), without = options;
    without.correct_bias = false;
    const double plain = error_of_mean(graph, quantized(graph, shifted(324), without).graph, shifted(324));
    CHECK(error_of_mean(graph, quantized(graph, shifted(324), options).graph, shifted(324)) < plain / 10);
  }
}

TEST_CASE("four bits lie in blocks of 32 along what is summed, the last one shorter, and without a zero point") {
  for (const bool transposed : {false, true}) {
    const std::vector<int64_t> dims = transposed ? std::vector<int64_t>{5, 80} : std::vector<int64_t>{80, 5};
    const Graph graph = model("float[2,80] x", "float[2,5] y", {tensor("w", dims, 3)}, transposed ? "y = Gemm <transB = 1> (x, w)" : "y = MatMul (x, w)");
    const Result<Quantized> q = quantize_graph(planned(graph, with(Precision::W4)), Observations(), with(Precision::W4));
    REQUIRE(q.ok());
    const image::Node& dq = reader_of(q->graph, "w/q");
    CHECK(dq.inputs.size() == 2);
    CHECK(attribute(dq, "block_size") == 32);
    CHECK(attribute(dq, "axis") == (transposed ? 1 : 0));
    CHECK(bytes_of(q->graph, "w/q").size() == 200);
    CHECK(q->encodings.weights.at("w").dtype == OPTIMA_I4);
    CHECK(q->encodings.weights.at("w").scale.size() == 15);
    CHECK(quality(graph, q->graph, 160) > 18);
  }
}

TEST_CASE("weights too short for a block have eight bits") {
  const Graph graph = model("float[1,4,5,5] x", "float[1,6,3,3] y", {tensor("w", {6, 4, 3, 3}, 1)}, "y = Conv (x, w)");
  const Result<Quantized> q = quantize_graph(planned(graph, with(Precision::W4)), Observations(), with(Precision::W4));
  REQUIRE(q.ok());
  CHECK(q->encodings.weights.at("w").dtype == OPTIMA_I8);
}

TEST_CASE("second-order rounding loses less than the nearest codes where inputs go together") {
  // Forty channels made of four: what one weight loses, others can give back.
  Feeds feeds = samples_of(400, 16);
  const Numbers mix = normal(160, 50);
  for (std::vector<Numbers>& feed : feeds)
    for (size_t r = 0; r < 10; ++r)
      for (size_t c = 39; c < 40; --c) {
        float sum = 0.05f * feed[0][r * 40 + c];
        for (size_t k = 0; k < 4; ++k) sum += mix[k * 40 + c] * feed[0][r * 40 + k];
        if (c >= 4) feed[0][r * 40 + c] = sum;
      }
  for (const char* node : {"y = Gemm (x, w)", "y = Gemm <transB = 1> (x, w)"}) {
    const bool transposed = std::string(node).find("transB") != std::string::npos;
    const Graph graph = model("float[10,40] x", "float[10,6] y", {tensor("w", transposed ? std::vector<int64_t>{6, 40} : std::vector<int64_t>{40, 6}, 3)}, node);
    QuantizeOptions options = with(Precision::W4), nearest = options;
    nearest.second_order = false;
    const Feeds calibration(feeds.begin(), feeds.begin() + 12);
    const double best = snr(answer(graph, feeds[15]), answer(quantized(graph, calibration, options).graph, feeds[15]));
    const double plain = snr(answer(graph, feeds[15]), answer(quantized(graph, calibration, nearest).graph, feeds[15]));
    CHECK(best > plain + 5);
  }
}

TEST_CASE("w8 leaves activations alone and needs no data") {
  const Graph graph = model("float[3,4] x", "float[3,6] y", {tensor("w", {4, 6}, 1), tensor("b", {6}, 2)}, "g = Gemm (x, w, b)\n y = Relu (g)");
  const Result<Quantized> q = quantize_graph(planned(graph, with(Precision::W8)), Observations(), with(Precision::W8));
  REQUIRE(q.ok());
  CHECK(count_of(q->graph, "QuantizeLinear") == 0);
  CHECK(count_of(q->graph, "DequantizeLinear") == 1);
  CHECK(quality(graph, q->graph, 12) > 40);
}

TEST_CASE("weights that two products read are stored once") {
  const Graph graph = model("float[3,4] x", "float[3,4] y", {tensor("w", {4, 4}, 1)}, "a = MatMul (x, w)\n r = Relu (a)\n y = MatMul (r, w)");
  const Quantized q = quantized(graph, samples_of(12));
  size_t stored = 0;
  for (const image::Constant& c : q.graph.contents.constants) stored += c.dtype == OPTIMA_I8 && c.dims == std::vector<int64_t>{4, 4};
  CHECK(stored == 1);
  CHECK(count_of(q.graph, "DequantizeLinear") == 4);
}

TEST_CASE("encodings given for weights are taken, and refused where they do not fit") {
  const Graph graph = model("float[3,4] x", "float[3,2] y", {tensor("w", {4, 2}, 1)}, "y = MatMul (x, w)");
  QuantizeOptions options;
  Encoding whole;
  whole.dtype = OPTIMA_I8;
  whole.scale = {0.01f};
  whole.zero_point = {0};
  options.given.weights["w"] = whole;
  CHECK(quantized(graph, samples_of(12), options).encodings.weights.at("w").scale == std::vector<float>{0.01f});
  whole.axis = 1;
  options.given.weights["w"] = whole;
  const QuantizePlan plan = planned(graph, options);
  const Status status = quantize_graph(plan, observed(plan, samples_of(12)), options).status();
  CHECK(status.kind() == StatusKind::InvalidInput);
  CHECK(status.message() == "encoding of weights 'w' has 1 scales on axis 1, wanted 2 and codes of at most 8 bits");
}

TEST_CASE("weights that are no numbers are an error that names them") {
  Graph graph = model("float[3,2] x", "float[3,1] y", {tensor("w", {2, 1}, Numbers{1, 2})}, "y = MatMul (x, w)");
  const float numbers[] = {1, std::nanf("")};
  graph.blobs[graph.contents.constants[graph.main().values[graph.main().nodes[0].inputs[1]].constant].blob] = Blob::copy(numbers, sizeof numbers);
  const Status status = quantize_graph(planned(graph, with(Precision::W8)), Observations(), with(Precision::W8)).status();
  CHECK(status.message() == "weights 'w' hold NaN or infinity, wanted finite numbers");
}

TEST_CASE("a calibration table of tpu_mlir calls weights after what is made with them, leaves biases out, and quantizes to the same codes again") {
  const Graph graph = model("float[1,4,5,5] x", "float[1,3] y", {tensor("w", {6, 4, 3, 3}, 1), tensor("b", {6}, 2), tensor("v", {54, 3}, 3)},
                            "c = Conv (x, w, b)\n r = Relu (c)\n f = Flatten (r)\n y = Gemm (f, v)");
  QuantizeOptions options;
  options.correct_bias = false;
  const Quantized q = quantized(graph, samples_of(100), options);
  const Encodings named = with_tpu_names(q.encodings, q.graph);
  CHECK(named.weights.contains("r_weight"));
  CHECK(named.weights.contains("y_weight"));
  CHECK_FALSE(named.weights.contains("w"));
  const Result<std::string> table = write_encodings(named, EncodingsFormat::TpuTable);
  REQUIRE_MESSAGE(table.ok(), table.status().message());
  CHECK(table->find("\nr_weight 6 ") != std::string::npos);
  CHECK(table->find("\nb ") == std::string::npos);
  const Result<Encodings> back = parse_encodings(*table, "table");
  REQUIRE_MESSAGE(back.ok(), back.status().message());
  options.given = *back;
  for (auto& [name, encoding] : options.given.weights)
    for (float& scale : encoding.scale) scale *= 2;  // told apart from scales that are chosen anew
  const Quantized again = quantized(graph, samples_of(100), options);
  CHECK(again.encodings.activations.at("x").scale == q.encodings.activations.at("x").scale);
  for (const char* weights : {"w", "v"}) CHECK(again.encodings.weights.at(weights).scale[1] == 2 * q.encodings.weights.at(weights).scale[1]);
}
