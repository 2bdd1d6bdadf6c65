// SPDX-License-Identifier: Apache-2.0
#include "core/observe/exact_sum.hpp"

#include <cmath>

namespace optima {
namespace {

constexpr int kUnit = -149, kMantissa = 53;
constexpr int64_t kDigit = int64_t{1} << 32;

}  // namespace

void ExactSum::add(double value) {
  if (value == 0) return;
  int exponent = 0;
  const double fraction = std::frexp(std::fabs(value), &exponent);
  auto mantissa = static_cast<uint64_t>(std::ldexp(fraction, kMantissa));
  int shift = exponent - kMantissa - kUnit;
  if (shift < 0) mantissa >>= -shift, shift = 0;
  const int64_t sign = value < 0 ? -1 : 1;
  const auto at = static_cast<size_t>(shift / 32);
  const uint64_t low = (mantissa & (kDigit - 1)) << (shift % 32), high = (mantissa >> 32) << (shift % 32);
  digits_.at(at) += sign * static_cast<int64_t>(low & (kDigit - 1));
  digits_.at(at + 1) += sign * static_cast<int64_t>((low >> 32) + (high & (kDigit - 1)));
  if (high >> 32) digits_.at(at + 2) += sign * static_cast<int64_t>(high >> 32);
}

void ExactSum::add(const ExactSum& other) {
  for (size_t d = 0; d < digits_.size(); ++d) digits_[d] += other.digits_[d];
}

double ExactSum::value() const {
  std::array<int64_t, kDigits> digits = digits_;
  const auto take_carries = [&digits] {
    for (size_t d = 0; d + 1 < digits.size(); ++d) {
      digits[d + 1] += digits[d] >> 32;
      digits[d] &= kDigit - 1;
    }
  };
  take_carries();
  const bool negative = digits.back() < 0;
  if (negative) {
    for (int64_t& digit : digits) digit = -digit;
    take_carries();
  }
  double out = 0;
  for (size_t d = digits.size(); d-- > 0;) out += std::ldexp(static_cast<double>(digits[d]), static_cast<int>(d) * 32 + kUnit);
  return negative ? -out : out;
}

}  // namespace optima
