// SPDX-License-Identifier: Apache-2.0
#include "core/tensor_io/half.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "core/tensor_io/tensor.hpp"

using namespace optima;

TEST_CASE("every 16-bit float becomes the same float as the slow way says, and comes back") {
  for (const int32_t dtype : {OPTIMA_F16, OPTIMA_BF16})
    for (uint32_t code = 0; code < 65536; ++code) {
      auto bits = static_cast<uint16_t>(code);
      Tensor t = *Tensor::borrow(dtype, {1}, &bits, 2);
      const double wanted = element_as_double(t, 0);
      const float got = dtype == OPTIMA_F16 ? float_of_half(bits) : float_of_bfloat(bits);
      const uint16_t back = dtype == OPTIMA_F16 ? half_of(got) : bfloat_of(got);
      const bool same = std::isnan(wanted) ? std::isnan(got) && std::isnan(dtype == OPTIMA_F16 ? float_of_half(back) : float_of_bfloat(back))
                                           : static_cast<double>(got) == wanted && std::signbit(got) == std::signbit(wanted) && back == bits;
      if (!same) CHECK_MESSAGE(same, "type " << dtype << " code " << code);
    }
}

TEST_CASE("floats between two halves go to the nearer one, and to the even one from the middle") {
  for (uint32_t code = 0; code < 0x7BFF; ++code) {
    const float low = float_of_half(static_cast<uint16_t>(code)), high = float_of_half(static_cast<uint16_t>(code + 1)), middle = (low + high) / 2;
    const bool right = half_of(std::nextafter(middle, low)) == code && half_of(std::nextafter(middle, high)) == code + 1 &&
                       half_of(middle) == (code % 2 ? code + 1 : code) && half_of(-middle) == (0x8000 | half_of(middle));
    if (!right) CHECK_MESSAGE(right, "code " << code);
  }
  CHECK(half_of(65519.996f) == 0x7BFF);
  CHECK(half_of(65520.0f) == 0x7C00);
  CHECK(half_of(-INFINITY) == 0xFC00);
  CHECK(bfloat_of(1.00390625f) == 0x3F80);  // the middle of 1 and the next: to the even one
  CHECK(bfloat_of(1.01171875f) == 0x3F82);
}
