// SPDX-License-Identifier: Apache-2.0
// plugins/bmcompiler: numbers at the border between the graph's element types and the file's.
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <vector>

#include "plugins/bmcompiler/border.hpp"
#include "tests/support/failure.hpp"

using namespace bmcompiler_plugin;
using optima::test::error_of;

namespace {

template <class To, class From>
std::vector<To> converted(const std::vector<From>& values, int32_t from, int32_t to) {
  std::vector<To> out(values.size());
  convert("t", values.data(), from, out.data(), to, values.size());
  return out;
}

}  // namespace

TEST_CASE("whole numbers cross the border exactly or not at all") {
  CHECK(converted<int32_t, int64_t>({-2147483648, 7}, OPTIMA_I64, OPTIMA_I32) == std::vector<int32_t>{-2147483647 - 1, 7});
  CHECK(converted<int64_t, int32_t>({-5, 7}, OPTIMA_I32, OPTIMA_I64) == std::vector<int64_t>{-5, 7});
  CHECK(converted<float, int64_t>({16777216, -3}, OPTIMA_I64, OPTIMA_F32) == std::vector<float>{16777216, -3});
  CHECK(error_of([] { converted<int32_t, int64_t>({2147483648}, OPTIMA_I64, OPTIMA_I32); }, OPTIMA_INVALID_ARGUMENT) ==
        "tensor 't' has 2147483648, which i32, as the device has it, does not hold");
  error_of([] { converted<float, int64_t>({16777217}, OPTIMA_I64, OPTIMA_F32); }, OPTIMA_INVALID_ARGUMENT);
  error_of([] { converted<int64_t, float>({NAN}, OPTIMA_F32, OPTIMA_I64); }, OPTIMA_INVALID_ARGUMENT);
}

TEST_CASE("a bool is zero or one in floats, and whatever is not zero is true") {
  CHECK(converted<float, uint8_t>({0, 1, 2}, OPTIMA_BOOL, OPTIMA_F32) == std::vector<float>{0, 1, 1});
  CHECK(converted<uint8_t, float>({0, -0.5f, 1}, OPTIMA_F32, OPTIMA_BOOL) == std::vector<uint8_t>{0, 1, 1});
}

TEST_CASE("every half goes to float and back as it was") {
  for (uint32_t h = 0; h < 65536; ++h) {
    const std::vector<float> f = converted<float, uint16_t>({static_cast<uint16_t>(h)}, OPTIMA_F16, OPTIMA_F32);
    if (std::isnan(f[0])) continue;
    REQUIRE(converted<uint16_t, float>(f, OPTIMA_F32, OPTIMA_F16)[0] == h);
  }
  // ties go to even, what is past the largest is infinite, half of the smallest is zero
  const std::vector<float> odd{1 + 1.0f / 2048, 1 + 3.0f / 2048, 65519, 65520, std::ldexp(1.0f, -25), NAN};
  CHECK(converted<uint16_t, float>(odd, OPTIMA_F32, OPTIMA_F16) == std::vector<uint16_t>{0x3c00, 0x3c02, 0x7bff, 0x7c00, 0, 0x7e00});
}

TEST_CASE("brain floats are the upper half of a float, rounded to even") {
  CHECK(converted<uint16_t, float>({1, 1 + 1.0f / 256, 1 + 3.0f / 256, -INFINITY}, OPTIMA_F32, OPTIMA_BF16) == std::vector<uint16_t>{0x3f80, 0x3f80, 0x3f82, 0xff80});
  CHECK(converted<float, uint16_t>({0x4049}, OPTIMA_BF16, OPTIMA_F32)[0] == 3.140625f);
}

TEST_CASE("what has no numbers is refused") {
  CHECK(!converts(OPTIMA_STRING, OPTIMA_F32));
  CHECK(converts(OPTIMA_I4, OPTIMA_I4));
  error_of([] { converted<float, uint8_t>({1}, OPTIMA_I4, OPTIMA_F32); }, OPTIMA_UNSUPPORTED);
}
