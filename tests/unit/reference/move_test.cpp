// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "tests/unit/reference/node.hpp"

using namespace optima::test;

TEST_CASE("Transpose turns axes around when perm is absent and refuses what is no permutation") {
  const Tensor x = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK(floats(OneNode("Transpose", 13)({x})) == std::vector<float>{1, 4, 2, 5, 3, 6});
  CHECK(OneNode("Transpose", 13).list("perm", {0, 0}).refusal({x}, OPTIMA_INVALID_GRAPH) ==
        "Transpose node 'n': perm is [0, 0], must be a permutation of 2 axes");
}

TEST_CASE("Slice counts from the end, steps backwards and clamps") {
  const Tensor x = f32({5}, {0, 1, 2, 3, 4});
  const auto slice = [&](int64_t start, int64_t end, int64_t step) {
    return floats(OneNode("Slice", 13)({x, i64({1}, {start}), i64({1}, {end}), i64({1}, {-1}), i64({1}, {step})}));
  };
  CHECK(slice(-2, INT64_MAX, 1) == std::vector<float>{3, 4});
  CHECK(slice(-1, INT64_MIN, -2) == std::vector<float>{4, 2, 0});
  CHECK(slice(3, 1, 1).empty());
  CHECK(slice(0, 5, INT64_MAX) == std::vector<float>{0});
  CHECK(slice(4, INT64_MIN, INT64_MIN) == std::vector<float>{4});
}

TEST_CASE("Slice takes attributes in version 1") {
  CHECK(floats(OneNode("Slice", 1).list("starts", {1}).list("ends", {3})({f32({4}, {0, 1, 2, 3})})) == std::vector<float>{1, 2});
}

TEST_CASE("Gather accepts negative indices and refuses those outside") {
  const Tensor x = f32({3, 2}, {1, 2, 3, 4, 5, 6});
  CHECK(floats(OneNode("Gather", 13)({x, i64({2}, {-1, 0})})) == std::vector<float>{5, 6, 1, 2});
  CHECK(OneNode("Gather", 13)({x, i64({}, {1})}).dims == Ints{2});
  CHECK(OneNode("Gather", 13).refusal({x, i64({1}, {3})}, OPTIMA_INVALID_GRAPH) == "Gather node 'n': an index is 3, must be within 3");
}

TEST_CASE("Reshape copies dims for 0, infers -1 and keeps elements") {
  const Tensor x = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK(OneNode("Reshape", 14)({x, i64({3}, {0, -1, 1})}).dims == Ints{2, 3, 1});
  CHECK(OneNode("Reshape", 14).integer("allowzero", 1)({f32({0, 3}, {}), i64({2}, {3, 0})}).dims == Ints{3, 0});
  CHECK(OneNode("Reshape", 14).refusal({x, i64({1}, {5})}, OPTIMA_INVALID_GRAPH) == "Reshape node 'n': shape [2, 3] does not fit into [5]");
  CHECK(OneNode("Reshape", 14).refusal({x, i64({2}, {INT64_MAX, INT64_MAX})}, OPTIMA_MEMORY).find("more elements") != std::string::npos);
}

TEST_CASE("Concat joins along a negative axis, empty parts included") {
  const Tensor y = OneNode("Concat", 13).integer("axis", -1)({f32({2, 1}, {1, 2}), f32({2, 0}, {}), f32({2, 2}, {3, 4, 5, 6})});
  CHECK(y.dims == Ints{2, 3});
  CHECK(floats(y) == std::vector<float>{1, 3, 4, 2, 5, 6});
}

TEST_CASE("Pad repeats, mirrors, wraps and crops") {
  const Tensor x = f32({3}, {1, 2, 3}), pads = i64({2}, {2, -1});
  const auto pad = [&](const char* mode) { return floats(OneNode("Pad", 19).text("mode", mode)({x, pads})); };
  CHECK(pad("constant") == std::vector<float>{0, 0, 1, 2});
  CHECK(pad("edge") == std::vector<float>{1, 1, 1, 2});
  CHECK(pad("reflect") == std::vector<float>{3, 2, 1, 2});
  CHECK(pad("wrap") == std::vector<float>{2, 3, 1, 2});
}

TEST_CASE("Unsqueeze and Squeeze take axes from an attribute or an input") {
  const Tensor x = f32({2}, {1, 2});
  CHECK(OneNode("Unsqueeze", 11).list("axes", {0, -1})({x}).dims == Ints{1, 2, 1});
  CHECK(OneNode("Unsqueeze", 13)({x, i64({1}, {1})}).dims == Ints{2, 1});
  CHECK(OneNode("Squeeze", 13)({f32({1, 2, 1}, {1, 2})}).dims == Ints{2});
  CHECK(OneNode("Squeeze", 11).list("axes", {-1})({f32({1, 2, 1}, {1, 2})}).dims == Ints{1, 2});
}

TEST_CASE("ConstantOfShape makes zeros and refuses hostile sizes before making anything") {
  CHECK(floats(OneNode("ConstantOfShape", 9)({i64({2}, {1, 2})})) == std::vector<float>{0, 0});
  CHECK(OneNode("ConstantOfShape", 9).refusal({i64({2}, {1 << 30, 1 << 30})}, OPTIMA_MEMORY).find("more elements than the reference takes") != std::string::npos);
  CHECK(OneNode("ConstantOfShape", 9).refusal({i64({1}, {-1})}, OPTIMA_INVALID_GRAPH) == "ConstantOfShape node 'n': shape [-1] has a negative dim");
}

TEST_CASE("Split divides evenly with a smaller last piece, or as told") {
  const Tensor x = f32({5}, {1, 2, 3, 4, 5});
  const auto even = OneNode("Split", 18, 2).integer("num_outputs", 2).all({x});
  CHECK(floats(even[0]) == std::vector<float>{1, 2, 3});
  CHECK(floats(even[1]) == std::vector<float>{4, 5});
  CHECK(floats(OneNode("Split", 13, 2).all({x, i64({2}, {1, 4})})[1]) == std::vector<float>{2, 3, 4, 5});
  CHECK(OneNode("Split", 13, 2).refusal({x, i64({2}, {1, 5})}, OPTIMA_INVALID_GRAPH) == "Split node 'n': split is [1, 5], must sum up to 5");
}
