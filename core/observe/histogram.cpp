// SPDX-License-Identifier: Apache-2.0
#include "core/observe/histogram.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "core/observe/floats.hpp"

namespace optima {
namespace {

constexpr int kHalf = Histogram::kBins / 2, kHalfLog2 = std::countr_zero(static_cast<unsigned>(kHalf));
constexpr size_t kChunk = 65536;  // looked at twice: it stays in the second cache
constexpr size_t kFew = 4096;     // so few are not worth tables of their own

/// The least exponent with low >= -kHalf * 2^e and high < kHalf * 2^e.
int exponent_for(float low, float high) {
  int out = -126;
  if (high > 0) out = std::max(out, std::ilogb(high) + 1 - kHalfLog2);
  if (low < 0) {
    int unused = 0;
    const bool power_of_two = std::frexp(low, &unused) == -0.5f;
    out = std::max(out, std::ilogb(low) + !power_of_two - kHalfLog2);
  }
  return out;
}

/// floor(x / width) + kHalf. The product rounds only where it underflows, to a quotient between -1 and 1; the comparison is exact always.
int32_t bin_of(float x, float per_width, float width) {
  const auto towards_zero = static_cast<int32_t>(x * per_width);
  return towards_zero - (x < static_cast<float>(towards_zero) * width) + kHalf;
}

/// A value that is met often, such as 0 behind a ReLU, would wait for its own counter each time: four tables take turns.
class Tables {
 public:
  void add(std::span<const float> values, float width) {
    constexpr size_t kBlock = 1024;
    static_assert(kChunk / 4 <= std::numeric_limits<uint16_t>::max());
    std::array<int32_t, kBlock> bins;
    const float per_width = 1 / width;
    for (size_t at = 0; at < values.size(); at += kBlock) {
      const size_t count = std::min(kBlock, values.size() - at);
      for (size_t i = 0; i < count; ++i) bins[i] = bin_of(values[at + i], per_width, width);
      size_t i = 0;
      for (; i + 4 <= count; i += 4)
        for (size_t t = 0; t < 4; ++t) ++counts_[t][static_cast<size_t>(bins[i + t])];
      for (; i < count; ++i) ++counts_[i % 4][static_cast<size_t>(bins[i])];
    }
  }
  void give(std::array<uint64_t, Histogram::kBins>& to) const {
    for (size_t b = 0; b < to.size(); ++b) to[b] += uint32_t{counts_[0][b]} + counts_[1][b] + counts_[2][b] + counts_[3][b];
  }

 private:
  std::array<std::array<uint16_t, Histogram::kBins>, 4> counts_{};
};

}  // namespace

double Histogram::width() const { return std::ldexp(1.0, exponent_); }

void Histogram::add(std::span<const float> values) {
  for (; values.size() > kChunk; values = values.subspan(kChunk)) add_chunk(values.first(kChunk));
  add_chunk(values);
}

void Histogram::add_chunk(std::span<const float> values) {
  if (values.empty()) return;
  const Extremes extremes = extremes_of(values);
  if (!extremes.all_finite()) return add_finite_of(values);
  widen(extremes.low(), extremes.high());
  count_ += values.size();
  const auto width = static_cast<float>(this->width());
  if (values.size() <= kFew) {
    for (const float value : values) ++bins_[static_cast<size_t>(bin_of(value, 1 / width, width))];
    return;
  }
  Tables tables;
  tables.add(values, width);
  tables.give(bins_);
}

void Histogram::add_finite_of(std::span<const float> values) {
  const std::vector<float> finite = finite_of(values);
  const auto nans = static_cast<uint64_t>(std::count_if(values.begin(), values.end(), [](float v) { return std::isnan(v); }));
  nans_ += nans;
  infinities_ += values.size() - finite.size() - nans;
  add_chunk(finite);
}

void Histogram::widen(float low, float high) {
  min_ = any() ? std::min(min_, low) : low;
  max_ = any() ? std::max(max_, high) : high;
  grow(exponent_for(low, high));
}

void Histogram::grow(int exponent) {
  if (exponent <= exponent_) return;
  const int shift = std::min(exponent - exponent_, 31);
  exponent_ = exponent;
  std::array<uint64_t, kBins> wider{};
  for (int b = 0; b < kBins; ++b) wider[static_cast<size_t>(((b - kHalf) >> shift) + kHalf)] += bins_[static_cast<size_t>(b)];
  bins_ = wider;
}

void Histogram::merge(const Histogram& other) {
  nans_ += other.nans_;
  infinities_ += other.infinities_;
  if (!other.any()) return;
  widen(other.min_, other.max_);
  count_ += other.count_;
  const int shift = std::min(exponent_ - other.exponent_, 31);
  for (int b = 0; b < kBins; ++b) bins_[static_cast<size_t>(((b - kHalf) >> shift) + kHalf)] += other.bins_[static_cast<size_t>(b)];
}

}  // namespace optima
