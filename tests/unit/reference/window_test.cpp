// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "tests/unit/reference/node.hpp"

using namespace optima::test;

TEST_CASE("Conv sums a window with asymmetric pads and strides") {
  const Tensor x = f32({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}), w = f32({1, 1, 2, 2}, {1, 1, 1, 1});
  const Tensor y = OneNode("Conv", 11).list("pads", {1, 0, 0, 0}).list("strides", {1, 2})({x, w});
  CHECK(y.dims == Ints{1, 1, 3, 1});
  CHECK(floats(y) == std::vector<float>{3, 12, 24});
}

TEST_CASE("Conv keeps groups apart and adds the bias per channel") {
  const Tensor x = f32({1, 2, 2}, {1, 2, 3, 4}), w = f32({2, 1, 1}, {10, 100}), b = f32({2}, {1, 2});
  CHECK(floats(OneNode("Conv", 11).integer("group", 2)({x, w, b})) == std::vector<float>{11, 21, 302, 402});
}

TEST_CASE("Conv dilates, in three dims too") {
  const Tensor x = f32({1, 1, 1, 1, 5}, {1, 2, 3, 4, 5}), w = f32({1, 1, 1, 1, 3}, {1, 10, 100});
  CHECK(floats(OneNode("Conv", 11).list("dilations", {1, 1, 2})({x, w})) == std::vector<float>{531});
}

TEST_CASE("auto_pad SAME puts the odd pad last or first") {
  const Tensor x = f32({1, 1, 3}, {1, 2, 3}), w = f32({1, 1, 2}, {1, 10});
  CHECK(floats(OneNode("Conv", 11).text("auto_pad", "SAME_UPPER")({x, w})) == std::vector<float>{21, 32, 3});
  CHECK(floats(OneNode("Conv", 11).text("auto_pad", "SAME_LOWER")({x, w})) == std::vector<float>{10, 21, 32});
}

TEST_CASE("Conv refuses a window larger than the input and attributes out of range") {
  const Tensor x = f32({1, 1, 2}, {1, 2}), w = f32({1, 1, 3}, {1, 1, 1});
  CHECK(OneNode("Conv", 11).refusal({x, w}, OPTIMA_INVALID_GRAPH) == "Conv node 'n': a window of 3 does not fit into 2 padded elements");
  CHECK(OneNode("Conv", 11).list("strides", {0}).refusal({x, w}, OPTIMA_INVALID_GRAPH) ==
        "Conv node 'n': strides is [0], must be positive and at most 16777216");
  CHECK(OneNode("Conv", 11).list("pads", {INT64_MAX, INT64_MAX}).refusal({x, w}, OPTIMA_INVALID_GRAPH).find("out of range") != std::string::npos);
  CHECK(OneNode("Conv", 11).integer("group", 0).list("pads", {1, 1}).refusal({x, w}, OPTIMA_INVALID_GRAPH) ==
        "Conv node 'n': group is 0, which does not divide [1, 1, 2] and weights [1, 1, 3]");
}

TEST_CASE("ceil_mode adds a last window, but none that starts in the end pad") {
  const Tensor x = f32({1, 1, 4}, {1, 2, 3, 4});
  CHECK(floats(OneNode("MaxPool", 12).list("kernel_shape", {3}).list("strides", {2}).integer("ceil_mode", 1)({x})) == std::vector<float>{3, 4});
  const OneNode last_in_pad = OneNode("MaxPool", 12).list("kernel_shape", {2}).list("strides", {3}).list("pads", {0, 1}).integer("ceil_mode", 1);
  CHECK(floats(OneNode(last_in_pad)({f32({1, 1, 3}, {1, 2, 3})})) == std::vector<float>{2});
}

TEST_CASE("with ceil_mode a window larger than the input is there once, unless a stride more of it would fit") {
  const auto pool = [](const char* op, const Tensor& x) { return OneNode(op, 12).list("kernel_shape", {5}).list("strides", {3}).integer("ceil_mode", 1)({x}); };
  CHECK(floats(pool("MaxPool", f32({1, 1, 3}, {1, 4, 2}))) == std::vector<float>{4});
  CHECK(floats(pool("AveragePool", f32({1, 1, 4}, {1, 2, 3, 6}))) == std::vector<float>{3});
  const OneNode too_small = OneNode("MaxPool", 12).list("kernel_shape", {5}).list("strides", {3}).integer("ceil_mode", 1);
  CHECK(OneNode(too_small).refusal({f32({1, 1, 2}, {1, 2})}, OPTIMA_INVALID_GRAPH) == "MaxPool node 'n': a window of 5 does not fit into 2 padded elements");
}

TEST_CASE("the only window of a pool may reach over the end by less than a stride without ceil_mode, that of a convolution may not") {
  const auto pool = [](const char* op, int64_t kernel, int64_t stride) { return OneNode(op, 12).list("kernel_shape", {kernel}).list("strides", {stride}); };
  const Tensor x = f32({1, 1, 2}, {1, 4});
  CHECK(floats(pool("MaxPool", 3, 2)({x})) == std::vector<float>{4});
  CHECK(floats(pool("AveragePool", 3, 3)({x})) == std::vector<float>{2.5f});
  CHECK(floats(pool("MaxPool", 2, 2)({f32({1, 1, 1}, {7})})) == std::vector<float>{7});
  CHECK(pool("MaxPool", 4, 2).refusal({x}, OPTIMA_INVALID_GRAPH) == "MaxPool node 'n': a window of 4 does not fit into 2 padded elements");
  CHECK(pool("MaxPool", 3, 1).refusal({x}, OPTIMA_INVALID_GRAPH) == "MaxPool node 'n': a window of 3 does not fit into 2 padded elements");
  const Tensor weights = f32({1, 1, 3}, {1, 1, 1});
  CHECK(OneNode("Conv", 11).list("strides", {2}).refusal({x, weights}, OPTIMA_INVALID_GRAPH) == "Conv node 'n': a window of 3 does not fit into 2 padded elements");
}

TEST_CASE("MaxPool gives positions in the whole input, by rows or by columns") {
  const Tensor x = f32({1, 2, 2, 2}, {1, 2, 3, 4, 8, 7, 6, 5});
  const auto rows = OneNode("MaxPool", 12, 2).list("kernel_shape", {2, 2}).all({x});
  CHECK(floats(rows[0]) == std::vector<float>{4, 8});
  CHECK(ints(rows[1]) == Ints{3, 4});
  const auto columns = OneNode("MaxPool", 12, 2).list("kernel_shape", {1, 2}).integer("storage_order", 1).all({x});
  CHECK(ints(columns[1]) == Ints{2, 3, 4, 5});
}

TEST_CASE("AveragePool divides by what it saw, or by the window when pads count") {
  const Tensor x = f32({1, 1, 2}, {2, 4});
  CHECK(floats(OneNode("AveragePool", 11).list("kernel_shape", {2}).list("pads", {1, 0})({x})) == std::vector<float>{2, 3});
  CHECK(floats(OneNode("AveragePool", 11).list("kernel_shape", {2}).list("pads", {1, 0}).integer("count_include_pad", 1)({x})) == std::vector<float>{1, 3});
}
