// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "tests/unit/reference/node.hpp"

using namespace optima::test;

namespace {
const float kNan = std::numeric_limits<float>::quiet_NaN();
}

TEST_CASE("two tensors broadcast over leading and unit dims") {
  const Tensor y = OneNode("Add", 14)({f32({2, 1}, {1, 10}), f32({3}, {1, 2, 3})});
  CHECK(y.dims == Ints{2, 3});
  CHECK(floats(y) == std::vector<float>{2, 3, 4, 11, 12, 13});
}

TEST_CASE("a tensor without elements stays one") {
  const Tensor y = OneNode("Mul", 14)({f32({0, 3}, {}), f32({3}, {1, 2, 3})});
  CHECK(y.dims == Ints{0, 3});
  CHECK(y.size == 0);
}

TEST_CASE("shapes that do not broadcast are refused with both shapes") {
  CHECK(OneNode("Add", 14).refusal({f32({2}, {1, 2}), f32({3}, {1, 2, 3})}, OPTIMA_INVALID_GRAPH) ==
        "Add node 'n': shapes [2] and [3] do not broadcast");
}

TEST_CASE("mixed element types are refused") {
  CHECK(OneNode("Add", 14).refusal({f32({1}, {1}), i64({1}, {1})}, OPTIMA_UNSUPPORTED) ==
        "Add node 'n': input 1 is i64, must be f32 as the others");
}

TEST_CASE("an integer divided by zero is refused, not trapped") {
  CHECK(OneNode("Div", 14).refusal({i64({1}, {1}), i64({1}, {0})}, OPTIMA_INVALID_GRAPH) == "Div node 'n': integer division by zero");
  const int64_t least = std::numeric_limits<int64_t>::min();
  CHECK(ints(OneNode("Div", 14)({i64({2}, {least, -7}), i64({2}, {-1, 2})})) == Ints{least, -3});
}

TEST_CASE("Mod follows the divisor's sign, with fmod the dividend's") {
  CHECK(ints(OneNode("Mod", 13)({i64({3}, {-4, 7, 5}), i64({3}, {3, -3, 5})})) == Ints{2, -2, 0});
  CHECK(ints(OneNode("Mod", 13).integer("fmod", 1)({i64({3}, {-4, 7, 5}), i64({3}, {3, -3, 5})})) == Ints{-1, 1, 0});
}

TEST_CASE("NaN goes through Relu, Clip, Max and Min") {
  CHECK(std::isnan(floats(OneNode("Relu", 14)({f32({1}, {kNan})}))[0]));
  CHECK(std::isnan(floats(OneNode("Clip", 13)({f32({1}, {kNan}), f32({}, {0}), f32({}, {1})}))[0]));
  for (const char* op : {"Max", "Min"})
    for (const auto& [a, b] : {std::pair(kNan, 1.f), std::pair(1.f, kNan)}) CHECK(std::isnan(floats(OneNode(op, 13)({f32({1}, {a}), f32({1}, {b})}))[0]));
}

TEST_CASE("Clip takes its bounds from attributes in version 6 and from inputs later") {
  CHECK(floats(OneNode("Clip", 6).real("min", -1).real("max", 2)({f32({3}, {-5, 0, 5})})) == std::vector<float>{-1, 0, 2});
  CHECK(floats(OneNode("Clip", 13)({f32({3}, {-5, 0, 5}), Tensor(), f32({}, {3})})) == std::vector<float>{-5, 0, 3});
}

TEST_CASE("Pow keeps the base's type and is exact for integers") {
  CHECK(ints(OneNode("Pow", 15)({i64({3}, {3, -2, 2}), i64({3}, {39, 3, -1})})) == Ints{4052555153018976267, -8, 0});
}

TEST_CASE("unsigned integers wrap") {
  const Tensor y = OneNode("Sub", 14)({tensor<uint8_t>(OPTIMA_U8, {1}, {3}), tensor<uint8_t>(OPTIMA_U8, {1}, {5})});
  CHECK(elements<uint8_t>(y) == std::vector<uint8_t>{254});
}

TEST_CASE("half precision is rounded once, to even") {
  // 1 + 2^-11 lies between two halves: even is 1. 65520 rounds over the largest half to infinity.
  const Tensor x = tensor<double>(OPTIMA_F64, {4}, {1 + std::pow(2, -11), 1 + 3 * std::pow(2, -11), 65519.99, 65520});
  CHECK(elements<uint16_t>(OneNode("Cast", 13).integer("to", OPTIMA_F16)({x})) == std::vector<uint16_t>{0x3C00, 0x3C02, 0x7BFF, 0x7C00});
}

TEST_CASE("Cast to an integer truncates and survives NaN") {
  const Tensor x = f32({4}, {-1.9f, 2.9f, kNan, 1e30f});
  CHECK(ints(OneNode("Cast", 13).integer("to", OPTIMA_I64)({x})) == Ints{-1, 2, 0, std::numeric_limits<int64_t>::max()});
}

TEST_CASE("Where picks per element and broadcasts all three") {
  const Tensor y = OneNode("Where", 16)({boolean({2, 1}, {1, 0}), f32({2}, {1, 2}), f32({}, {9})});
  CHECK(floats(y) == std::vector<float>{1, 2, 9, 9});
}

TEST_CASE("BitShift by the width or more gives zero") {
  const Tensor x = tensor<uint32_t>(OPTIMA_U32, {2}, {1, 1}), by = tensor<uint32_t>(OPTIMA_U32, {2}, {4, 32});
  CHECK(elements<uint32_t>(OneNode("BitShift", 11).text("direction", "LEFT")({x, by})) == std::vector<uint32_t>{16, 0});
}

TEST_CASE("an operator, version or element type outside the table is refused by name") {
  CHECK(OneNode("Frobnicate", 1).refusal({f32({1}, {1})}, OPTIMA_UNSUPPORTED) ==
        "Frobnicate node 'n': operator Frobnicate has no reference evaluator");
  CHECK(OneNode("Relu", 1).domain("acme").refusal({f32({1}, {1})}, OPTIMA_UNSUPPORTED) ==
        "Relu node 'n': operator acme::Relu has no reference evaluator");
  CHECK(OneNode("Relu", 99).refusal({f32({1}, {1})}, OPTIMA_UNSUPPORTED) ==
        "Relu node 'n': operator Relu has version 99, must be 6..14");
  CHECK(OneNode("Not", 1).refusal({i64({1}, {1})}, OPTIMA_UNSUPPORTED) == "Not node 'n': input 0 is i64, must be one of: bool");
}

TEST_CASE("an input whose bytes do not fit its shape is refused") {
  Tensor x = f32({2}, {1, 2});
  x.dims = {3};
  CHECK(OneNode("Relu", 14).refusal({x}, OPTIMA_INVALID_ARGUMENT) == "Relu node 'n': input 0 has 8 bytes, must be 12");
}
