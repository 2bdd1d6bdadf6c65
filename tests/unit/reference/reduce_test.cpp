// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "tests/unit/reference/node.hpp"

using namespace optima::test;

namespace {
const float kNan = std::numeric_limits<float>::quiet_NaN(), kInf = std::numeric_limits<float>::infinity();
}

TEST_CASE("a reduction takes axes from an attribute or an input, keeps dims or drops them") {
  const Tensor x = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor kept = OneNode("ReduceSum", 11).list("axes", {-1})({x});
  CHECK(kept.dims == Ints{2, 1});
  CHECK(floats(kept) == std::vector<float>{6, 15});
  const Tensor dropped = OneNode("ReduceSum", 13).integer("keepdims", 0)({x, i64({1}, {0})});
  CHECK(dropped.dims == Ints{3});
  CHECK(floats(dropped) == std::vector<float>{5, 7, 9});
  CHECK(OneNode("ReduceMax", 18).integer("keepdims", 0)({x}).dims == Ints{});
}

TEST_CASE("no axes means all, or with noop_with_empty_axes every element for itself") {
  const Tensor x = f32({2}, {-3, 4});
  CHECK(floats(OneNode("ReduceL1", 18)({x, i64({0}, {})})) == std::vector<float>{7});
  CHECK(floats(OneNode("ReduceL1", 18).integer("noop_with_empty_axes", 1)({x, i64({0}, {})})) == std::vector<float>{3, 4});
}

TEST_CASE("reductions over nothing give the neutral element") {
  const Tensor x = f32({2, 0}, {}), axes = i64({1}, {1});
  CHECK(floats(OneNode("ReduceSum", 13)({x, axes})) == std::vector<float>{0, 0});
  CHECK(floats(OneNode("ReduceProd", 18)({x, axes})) == std::vector<float>{1, 1});
  CHECK(floats(OneNode("ReduceMax", 18)({x, axes})) == std::vector<float>{-kInf, -kInf});
  CHECK(floats(OneNode("ReduceLogSumExp", 18)({x, axes})) == std::vector<float>{-kInf, -kInf});
  CHECK(elements<int8_t>(OneNode("ReduceMax", 18)({tensor<int8_t>(OPTIMA_I8, {1, 0}, {}), axes})) == std::vector<int8_t>{-128});
  CHECK(elements<int32_t>(OneNode("ReduceMin", 18)({tensor<int32_t>(OPTIMA_I32, {1, 0}, {}), axes})) == std::vector<int32_t>{2147483647});
}

TEST_CASE("the largest and the smallest of small integers are some of them") {
  const Tensor bytes = tensor<int8_t>(OPTIMA_I8, {3}, {-3, 4, -5}), words = tensor<int32_t>(OPTIMA_I32, {2}, {-7, -9}), plain = tensor<uint16_t>(OPTIMA_U16, {2}, {7, 60000});
  CHECK(elements<int8_t>(OneNode("ReduceMax", 18)({bytes})) == std::vector<int8_t>{4});
  CHECK(elements<int8_t>(OneNode("ReduceMin", 18)({bytes})) == std::vector<int8_t>{-5});
  CHECK(elements<int32_t>(OneNode("ReduceMax", 18)({words})) == std::vector<int32_t>{-7});
  CHECK(elements<uint16_t>(OneNode("ReduceMax", 18)({plain})) == std::vector<uint16_t>{60000});
}

TEST_CASE("sums are added in double and rounded once") {
  std::vector<float> x(10001, 1e-4f);
  x[0] = 1e8f;
  CHECK(floats(OneNode("ReduceSum", 13)({f32({10001}, x)}))[0] == static_cast<float>(1e8 + 10000 * static_cast<double>(1e-4f)));
}

TEST_CASE("LogSumExp does not overflow") {
  CHECK(floats(OneNode("ReduceLogSumExp", 18)({f32({2}, {1000, 1000})}))[0] == doctest::Approx(1000 + std::log(2.0)));
}

TEST_CASE("an axis outside the rank is refused") {
  CHECK(OneNode("ReduceSum", 13).refusal({f32({2}, {1, 2}), i64({1}, {1})}, OPTIMA_INVALID_GRAPH) == "ReduceSum node 'n': axis is 1, must be within rank 1");
}

TEST_CASE("ArgMax takes the first of equals, or the last when asked") {
  const Tensor x = f32({1, 4}, {3, 5, 5, 1});
  CHECK(ints(OneNode("ArgMax", 13).integer("axis", 1)({x})) == Ints{1});
  CHECK(ints(OneNode("ArgMax", 13).integer("axis", -1).integer("select_last_index", 1)({x})) == Ints{2});
  CHECK(ints(OneNode("ArgMin", 13).integer("axis", 1).integer("keepdims", 0)({x})) == Ints{3});
}

TEST_CASE("TopK sorts, breaks ties by position and counts NaN as largest") {
  const auto top = OneNode("TopK", 11, 2).all({f32({5}, {1, 3, kNan, 3, 2}), i64({1}, {3})});
  CHECK(std::isnan(floats(top[0])[0]));
  CHECK(ints(top[1]) == Ints{2, 1, 3});
  const auto low = OneNode("TopK", 11, 2).integer("largest", 0).all({f32({3}, {1, kNan, 0}), i64({1}, {2})});
  CHECK(ints(low[1]) == Ints{2, 0});
  CHECK(OneNode("TopK", 11, 2).refusal({f32({2}, {1, 2}), i64({1}, {3})}, OPTIMA_INVALID_GRAPH) == "TopK node 'n': k is 3, must be within 2");
}

TEST_CASE("CumSum runs forwards, backwards, with and without the element itself") {
  const Tensor x = f32({3}, {1, 2, 3}), axis = i64({}, {0});
  CHECK(floats(OneNode("CumSum", 14)({x, axis})) == std::vector<float>{1, 3, 6});
  CHECK(floats(OneNode("CumSum", 14).integer("reverse", 1)({x, axis})) == std::vector<float>{6, 5, 3});
  CHECK(floats(OneNode("CumSum", 14).integer("exclusive", 1)({x, axis})) == std::vector<float>{0, 1, 3});
}

TEST_CASE("Softmax before version 13 spans all axes from `axis` on, later one axis") {
  const Tensor x = f32({1, 2, 2}, {0, 0, 0, 0});
  CHECK(floats(OneNode("Softmax", 11)({x}))[0] == 0.25f);
  CHECK(floats(OneNode("Softmax", 13)({x}))[0] == 0.5f);
  CHECK(floats(OneNode("Softmax", 13)({f32({2}, {1000, 1000})})) == std::vector<float>{0.5f, 0.5f});
}

TEST_CASE("LayerNormalization gives mean and inverse deviation beside the result") {
  const auto y = OneNode("LayerNormalization", 17, 3).real("epsilon", 0).all({f32({1, 2}, {1, 3}), f32({2}, {1, 10}), f32({2}, {0, 1})});
  CHECK(floats(y[0]) == std::vector<float>{-1, 11});
  CHECK(y[1].dims == Ints{1, 1});
  CHECK(floats(y[1]) == std::vector<float>{2});
  CHECK(floats(y[2]) == std::vector<float>{1});
}

TEST_CASE("BatchNormalization uses the given statistics per channel") {
  const Tensor x = f32({1, 2, 1}, {3, 5}), one = f32({2}, {1, 1}), zero = f32({2}, {0, 0});
  CHECK(floats(OneNode("BatchNormalization", 15).real("epsilon", 0)({x, f32({2}, {2, 1}), zero, one, one})) == std::vector<float>{4, 4});
  CHECK(OneNode("BatchNormalization", 15).refusal({x, f32({1}, {1}), zero, one, one}, OPTIMA_INVALID_GRAPH) ==
        "BatchNormalization node 'n': scale has shape [1], must be [2]");
}

TEST_CASE("Einsum sums over letters that the result does not name, and broadcasts an ellipsis") {
  const Tensor a = f32({2, 2}, {1, 2, 3, 4});
  CHECK(floats(OneNode("Einsum", 12).text("equation", "ij,jk->ki")({a, a})) == std::vector<float>{7, 15, 10, 22});
  CHECK(floats(OneNode("Einsum", 12).text("equation", "...i->...")({a})) == std::vector<float>{3, 7});
  CHECK(floats(OneNode("Einsum", 12).text("equation", "ii")({a})) == std::vector<float>{5});
  CHECK(OneNode("Einsum", 12).refusal({a}, OPTIMA_INVALID_GRAPH).find("equation '' has") == std::string::npos);
}

TEST_CASE("MatMul of vectors and stacks follows numpy") {
  CHECK(OneNode("MatMul", 13)({f32({2}, {1, 2}), f32({2}, {3, 4})}).dims == Ints{});
  CHECK(floats(OneNode("MatMul", 13)({f32({2}, {1, 2}), f32({2}, {3, 4})})) == std::vector<float>{11});
  CHECK(OneNode("MatMul", 13)({f32({3, 1, 1, 2}, {1, 2, 3, 4, 5, 6}), f32({2, 2, 1}, {1, 1, 1, 1})}).dims == Ints{3, 2, 1, 1});
  CHECK(floats(OneNode("MatMul", 13)({f32({1, 0}, {}), f32({0, 2}, {})})) == std::vector<float>{0, 0});
  CHECK(OneNode("MatMul", 13).refusal({f32({1, 2}, {1, 2}), f32({3, 1}, {1, 2, 3})}, OPTIMA_INVALID_GRAPH) == "MatMul node 'n': shapes [1, 2] and [3, 1] do not multiply");
}
