// SPDX-License-Identifier: Apache-2.0
// core/observe: sums of doubles that do not depend on the order of adding. For Observations.
#pragma once

#include <array>
#include <cstdint>

namespace optima {

/// The sum as one long integer in units of 2^-149, the smallest float: adding is exact, so it is commutative and associative to the bit.
/// Takes up to 2^31 numbers below 2^170, each a multiple of that unit, which every sum of floats is, rounded to double or not.
class ExactSum {
 public:
  void add(double value);
  void add(const ExactSum& other);
  /// To double, rounded the same way whatever was added to get here.
  double value() const;

 private:
  static constexpr int kDigits = 11;
  std::array<int64_t, kDigits> digits_{};  // of 32 bits, carries not yet taken
};

}  // namespace optima
