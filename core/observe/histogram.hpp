// SPDX-License-Identifier: Apache-2.0
// core/observe: the exact histogram of a stream of floats whose range nobody knows beforehand.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace optima {

/// kBins bins of one width 2^e; a finite x that is not 0 falls into bin floor(x / 2^e), counted from -kBins / 2. When a value does not
/// fit, e grows and neighbours are added up, so the result is that of two passes over the data, in any order and any division: adding
/// is commutative and associative to the byte. Value type; one writer.
class Histogram {
 public:
  static constexpr int kBins = 4096;

  void add(std::span<const float> values);
  /// As if everything the other one saw had been added here.
  void merge(const Histogram& other);

  uint64_t count() const { return count_; }  ///< finite values, zeros included
  uint64_t nans() const { return nans_; }
  uint64_t infinities() const { return infinities_; }
  float min() const { return min_; }          ///< of the finite ones; 0 when there is none
  float max() const { return max_; }
  bool any() const { return count_ > 0; }
  /// Bins cover [first + i, first + i + 1) * width, i = 0 .. kBins - 1, first = -kBins / 2.
  double width() const;
  int exponent() const { return exponent_; }
  const std::array<uint64_t, kBins>& bins() const { return bins_; }
  bool operator==(const Histogram&) const = default;

 private:
  void add_chunk(std::span<const float> values);
  void add_finite_of(std::span<const float> values);
  void widen(float low, float high);
  void grow(int exponent);

  std::array<uint64_t, kBins> bins_{};
  uint64_t count_ = 0, nans_ = 0, infinities_ = 0;
  int exponent_ = -126;  ///< of the smallest width there is
  float min_ = 0, max_ = 0;
};

}  // namespace optima
