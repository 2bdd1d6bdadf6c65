// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "tests/unit/reference/node.hpp"

using namespace optima::test;
namespace image = optima::image;

TEST_CASE("ConvTranspose spreads each element and honours pads, output_padding and output_shape") {
  const Tensor x = f32({1, 1, 2}, {1, 2}), w = f32({1, 1, 2}, {1, 10});
  CHECK(floats(OneNode("ConvTranspose", 11)({x, w})) == std::vector<float>{1, 12, 20});
  CHECK(floats(OneNode("ConvTranspose", 11).list("strides", {2}).list("output_padding", {1})({x, w})) == std::vector<float>{1, 10, 2, 20, 0});
  CHECK(floats(OneNode("ConvTranspose", 11).list("pads", {1, 0})({x, w})) == std::vector<float>{12, 20});
  CHECK(OneNode("ConvTranspose", 11).list("strides", {2}).list("output_shape", {3})({x, w}).dims == Ints{1, 1, 3});
}

TEST_CASE("QuantizeLinear rounds half to even and saturates, per tensor, axis and block") {
  const Tensor scale = f32({}, {2});
  CHECK(elements<uint8_t>(OneNode("QuantizeLinear", 13)({f32({4}, {1, 3, 1000, -5}), scale})) == std::vector<uint8_t>{0, 2, 255, 0});
  const Tensor zero = tensor<int8_t>(OPTIMA_I8, {2}, {0, 10});
  CHECK(elements<int8_t>(OneNode("QuantizeLinear", 13).integer("axis", 1)({f32({1, 2}, {4, 4}), f32({2}, {1, 2}), zero})) == std::vector<int8_t>{4, 12});
  const Tensor blocks = OneNode("QuantizeLinear", 21).integer("axis", 0).integer("block_size", 2)({f32({3}, {2, 4, 6}), f32({2}, {2, 3})});
  CHECK(elements<uint8_t>(blocks) == std::vector<uint8_t>{1, 2, 2});
}

TEST_CASE("QuantizeLinear makes NaN the smallest code of its type") {
  const Tensor x = f32({3}, {NAN, 2, NAN}), one = f32({}, {1});
  CHECK(elements<uint8_t>(OneNode("QuantizeLinear", 13)({x, one, tensor<uint8_t>(OPTIMA_U8, {}, {5})})) == std::vector<uint8_t>{0, 7, 0});
  CHECK(elements<int8_t>(OneNode("QuantizeLinear", 13)({x, one, tensor<int8_t>(OPTIMA_I8, {}, {5})})) == std::vector<int8_t>{-128, 7, -128});
  CHECK(elements<int16_t>(OneNode("QuantizeLinear", 21)({x, one, tensor<int16_t>(OPTIMA_I16, {}, {5})})) == std::vector<int16_t>{-32768, 7, -32768});
}

TEST_CASE("DequantizeLinear undoes 4-bit packing") {
  const Tensor packed = tensor<uint8_t>(OPTIMA_U8, {2}, {0x21, 0x0F});
  Tensor x = packed;
  x.dtype = OPTIMA_I4, x.dims = {3};
  CHECK(floats(OneNode("DequantizeLinear", 21)({x, f32({}, {2})})) == std::vector<float>{2, 4, -2});
}

TEST_CASE("ConvInteger subtracts zero points, so that pads count as zero") {
  const Tensor x = tensor<uint8_t>(OPTIMA_U8, {1, 1, 2}, {3, 4}), w = tensor<uint8_t>(OPTIMA_U8, {1, 1, 2}, {1, 1});
  const Tensor y = OneNode("ConvInteger", 10).list("pads", {1, 0})({x, w, tensor<uint8_t>(OPTIMA_U8, {}, {1})});
  CHECK(elements<int32_t>(y) == std::vector<int32_t>{2, 5});
}

TEST_CASE("Resize: nearest, linear and sizes, in the common coordinate modes") {
  const Tensor x = f32({1, 1, 1, 2}, {1, 3}), none, scales = f32({4}, {1, 1, 1, 2});
  CHECK(floats(OneNode("Resize", 13).text("coordinate_transformation_mode", "asymmetric").text("nearest_mode", "floor")({x, none, scales})) == std::vector<float>{1, 1, 3, 3});
  CHECK(floats(OneNode("Resize", 13).text("mode", "linear")({x, none, scales})) == std::vector<float>{1, 1.5f, 2.5f, 3});
  CHECK(floats(OneNode("Resize", 13).text("mode", "linear").text("coordinate_transformation_mode", "align_corners")({x, none, none, i64({4}, {1, 1, 1, 3})})) == std::vector<float>{1, 2, 3});
  CHECK(OneNode("Resize", 13).refusal({x, none, f32({4}, {1, 1, 1, -1})}, OPTIMA_INVALID_GRAPH).find("a scale is -1.0") != std::string::npos);
  CHECK(OneNode("Resize", 13).refusal({x, none, f32({4}, {1, 1, 1e7f, 1e7f})}, OPTIMA_MEMORY).find("more elements") != std::string::npos);
}

TEST_CASE("LSTM keeps the state of a short sequence and leaves zeros behind it") {
  // One unit, weights 0: every gate is 0.5, the cell halves each step.
  const Tensor x = f32({2, 2, 1}, {1, 1, 1, 1}), w = f32({1, 4, 1}, {0, 0, 0, 0});
  const Tensor lengths = tensor<int32_t>(OPTIMA_I32, {2}, {1, 2}), h = f32({1, 2, 1}, {0, 0}), cell = f32({1, 2, 1}, {8, 8});
  const auto y = OneNode("LSTM", 14, 3).integer("hidden_size", 1).all({x, w, w, Tensor(), lengths, h, cell});
  CHECK(floats(y[2]) == std::vector<float>{4, 2});
  CHECK(floats(y[0])[2] == 0.0f);
  CHECK(floats(y[0])[3] == doctest::Approx(0.5 * std::tanh(2.0)));
  CHECK(floats(y[1])[0] == doctest::Approx(0.5 * std::tanh(4.0)));
}

TEST_CASE("GRU and RNN run backwards from the end of each sequence") {
  const Tensor x = f32({2, 1, 1}, {1, 2}), one = f32({1, 1, 1}, {1}), zero = f32({1, 1, 1}, {0});
  const auto y = OneNode("RNN", 14, 2).integer("hidden_size", 1).text("direction", "reverse").all({x, one, zero});
  CHECK(floats(y[0])[0] == doctest::Approx(std::tanh(1.0)));
  CHECK(floats(y[1])[0] == doctest::Approx(std::tanh(1.0)));
  CHECK(OneNode("GRU", 14, 2).integer("hidden_size", 1).refusal({x, one, zero}, OPTIMA_INVALID_GRAPH).find("weights have shapes") != std::string::npos);
}

TEST_CASE("Scatter adds duplicates when asked and lets the last one win otherwise") {
  const Tensor x = f32({3}, {0, 0, 0}), at = i64({2}, {1, 1}), by = f32({2}, {5, 7});
  CHECK(floats(OneNode("ScatterElements", 18)({x, at, by})) == std::vector<float>{0, 7, 0});
  CHECK(floats(OneNode("ScatterElements", 18).text("reduction", "add")({x, at, by})) == std::vector<float>{0, 12, 0});
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const char* how : {"max", "min"}) {
    const std::vector<float> kept = floats(OneNode("ScatterElements", 18).text("reduction", how)({f32({2}, {nan, 1}), i64({2}, {0, 1}), f32({2}, {5, nan})}));
    CHECK((std::isnan(kept[0]) && std::isnan(kept[1])));
  }
  CHECK(OneNode("ScatterElements", 18).refusal({x, i64({2}, {3, 0}), by}, OPTIMA_INVALID_GRAPH) == "ScatterElements node 'n': an index is 3, must be within 3");
}

TEST_CASE("GatherND and ScatterND name slices by tuples") {
  const Tensor x = f32({2, 2}, {1, 2, 3, 4});
  CHECK(floats(OneNode("GatherND", 13)({x, i64({1, 1}, {-1})})) == std::vector<float>{3, 4});
  CHECK(floats(OneNode("GatherND", 13)({x, i64({2, 2}, {0, 0, 1, 1})})) == std::vector<float>{1, 4});
  CHECK(floats(OneNode("ScatterND", 18)({x, i64({1, 1}, {0}), f32({1, 2}, {8, 9})})) == std::vector<float>{8, 9, 3, 4});
  CHECK(OneNode("GatherND", 13).refusal({x, i64({1, 3}, {0, 0, 0})}, OPTIMA_INVALID_GRAPH) == "GatherND node 'n': indices of shape [1, 3] name more axes than [2, 2] has");
}

TEST_CASE("OneHot, NonZero and Unique give positions") {
  CHECK(floats(OneNode("OneHot", 11)({i64({2}, {-1, 5}), i64({}, {3}), f32({2}, {0, 1})})) == std::vector<float>{0, 0, 1, 0, 0, 0});
  CHECK(ints(OneNode("NonZero", 13)({f32({2, 2}, {0, 1, 1, 0})})) == Ints{0, 1, 1, 0});
  const auto u = OneNode("Unique", 11, 4).integer("sorted", 0).all({f32({4}, {2, 1, 2, 3})});
  CHECK(floats(u[0]) == std::vector<float>{2, 1, 3});
  CHECK(ints(u[2]) == Ints{0, 1, 0, 2});
  CHECK(ints(u[3]) == Ints{2, 1, 1});
}

namespace {

image::Value value(std::string name, int32_t dtype, std::vector<int64_t> dims) {
  std::vector<image::Dim> d;
  for (int64_t n : dims) d.push_back({n, ""});
  return {std::move(name), dtype, d, OPTIMA_NONE, OPTIMA_KIND_TENSOR};
}

/// Loop over `trips`: state = state + captured step, and the state of every round as scan output.
image::Contents counting_loop() {
  image::Graph top{"main",
                   {value("trips", OPTIMA_I64, {}), value("start", OPTIMA_I64, {}), value("step", OPTIMA_I64, {}), value("end", OPTIMA_I64, {}), value("all", OPTIMA_I64, {-1})},
                   {}, {0, 1, 2}, {3, 4}, {}};
  image::Attr body{"body", OPTIMA_ATTR_GRAPH};
  body.refs = {1};
  top.nodes.push_back({"loop", "Loop", "", 1, 21, {0, OPTIMA_NONE, 1}, {3, 4}, {body}});
  image::Graph inner{"body",
                     {value("i", OPTIMA_I64, {}), value("c", OPTIMA_BOOL, {}), value("s", OPTIMA_I64, {}), value("step", OPTIMA_I64, {}), value("n", OPTIMA_I64, {}), value("o", OPTIMA_I64, {})},
                     {}, {0, 1, 2}, {1, 4, 5}, {{2, 3}}};
  inner.nodes.push_back({"add", "Add", "", 2, 14, {2, 3}, {4}, {}});
  inner.nodes.push_back({"copy", "Identity", "", 3, 16, {4}, {5}, {}});
  return {{top, inner}, {}, {{"", 21}}};
}

}  // namespace

TEST_CASE("a Loop carries its state, reads what its body captures and stacks scan outputs, none for no trip") {
  const image::Bytes bytes = image::pack(counting_loop());
  const optima_graph graph{sizeof(optima_graph), 0, bytes.image(), nullptr, 0, 0, {}};
  REQUIRE(image::verify(bytes.data(), bytes.size(), &graph) == "");
  CHECK(optima::reference::can_evaluate(graph, *optima_get_node(bytes.image(), 0)));
  const auto run = [&](int64_t trips) { return optima::reference::run(graph, {i64({}, {trips}), i64({}, {10}), i64({}, {5})}); };
  CHECK(ints(run(3)[0]) == Ints{25});
  CHECK(ints(run(3)[1]) == Ints{15, 20, 25});
  CHECK(ints(run(0)[0]) == Ints{10});
  CHECK(run(0)[1].dims == Ints{0});
}

TEST_CASE("an error in a body names the node of the body, and an input of another shape is refused") {
  image::Contents bad = counting_loop();
  bad.graphs[1].nodes[0].op_type = "Gadget";
  const image::Bytes bytes = image::pack(bad);
  const optima_graph graph{sizeof(optima_graph), 0, bytes.image(), nullptr, 0, 0, {}};
  CHECK(optima::reference::why_not(graph, *optima_get_node(bytes.image(), 0)) ==
        "its body holds a Gadget node 'add': operator Gadget has no reference evaluator");
  try {
    optima::reference::run(graph, {i64({}, {1}), i64({}, {0}), i64({}, {0})});
    FAIL("must throw");
  } catch (const optima::Error& e) {
    CHECK(e.node == 2);
    CHECK(e.text == "Gadget node 'add': operator Gadget has no reference evaluator");
  }
  try {
    optima::reference::run(graph, {i64({1}, {1}), i64({}, {0}), i64({}, {0})});
    FAIL("must throw");
  } catch (const optima::Error& e) {
    CHECK(e.code == OPTIMA_INVALID_ARGUMENT);
    CHECK(e.text == "input 0 has shape [1], the graph says []");
  }
}

TEST_CASE("run tells the observer every value in order") {
  const image::Bytes bytes = image::pack(counting_loop());
  const optima_graph graph{sizeof(optima_graph), 0, bytes.image(), nullptr, 0, 0, {}};
  std::vector<uint32_t> seen;
  optima::reference::run(graph, {i64({}, {1}), i64({}, {0}), i64({}, {0})}, [&](uint32_t v, const Tensor&) { seen.push_back(v); });
  CHECK(seen == std::vector<uint32_t>{3, 4});
}
