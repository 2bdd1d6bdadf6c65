// SPDX-License-Identifier: Apache-2.0
#include "core/observe/floats.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/support/text.hpp"
#include "core/tensor_io/element.hpp"
#include "core/tensor_io/half.hpp"

namespace optima {
namespace {

constexpr int32_t kInfinity = 0x7F800000;

float value_of(int32_t key) { return std::bit_cast<float>(key ^ ((key >> 31) & 0x7FFFFFFF)) + 0.0f; }

template <class From, class F>
std::span<const float> converted(std::span<const From> from, std::vector<float>& room, F&& f) {
  room.resize(from.size());
  for (size_t i = 0; i < from.size(); ++i) room[i] = f(from[i]);
  return room;
}

/// Four sums side by side, so that an addition need not wait for the one before.
double sum_of(const float* values, uint64_t count) {
  double sums[4] = {};
  uint64_t i = 0;
  for (; i + 4 <= count; i += 4)
    for (uint64_t k = 0; k < 4; ++k) sums[k] += values[i + k];
  for (; i < count; ++i) sums[0] += values[i];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

float largest_of(const float* values, uint64_t count) {
  int32_t largest = 0;
  for (uint64_t i = 0; i < count; ++i) largest = std::max(largest, std::bit_cast<int32_t>(values[i]) & 0x7FFFFFFF);
  return std::bit_cast<float>(largest);
}

}  // namespace

bool Extremes::all_finite() const { return high_key < kInfinity && low_key > -kInfinity - 1; }  // the key of -infinity is -kInfinity - 1
float Extremes::low() const { return value_of(low_key); }
float Extremes::high() const { return value_of(high_key); }

Extremes extremes_of(std::span<const float> values) {
  int32_t low = std::numeric_limits<int32_t>::max(), high = std::numeric_limits<int32_t>::min();
  for (const float value : values) {
    const auto bits = std::bit_cast<int32_t>(value);
    const int32_t key = bits ^ ((bits >> 31) & 0x7FFFFFFF);
    low = std::min(low, key);
    high = std::max(high, key);
  }
  return {low, high};
}

Result<std::span<const float>> floats_of(const Tensor& tensor, std::vector<float>& room) {
  switch (tensor.dtype) {
    case OPTIMA_F32: return tensor.as<float>();
    case OPTIMA_F16: return converted(tensor.as<uint16_t>(), room, float_of_half);
    case OPTIMA_BF16: return converted(tensor.as<uint16_t>(), room, float_of_bfloat);
    case OPTIMA_F64: return converted(tensor.as<double>(), room, [](double d) { return static_cast<float>(d); });
    default: return invalid_input(cat("found ", dtype_name(tensor.dtype), ", wanted float32, float16, bfloat16 or float64"));
  }
}

std::vector<float> finite_of(std::span<const float> values) {
  std::vector<float> out;
  std::copy_if(values.begin(), values.end(), std::back_inserter(out), [](float v) { return std::isfinite(v); });
  return out;
}

void sum_channels(std::span<const float> values, const ChannelView& view, std::vector<double>& sums, std::vector<float>& largest) {
  const float* row = values.data();
  for (uint64_t o = 0; o < view.outer; ++o) {
    if (view.inner == 1) {
      for (uint64_t c = 0; c < view.channels; ++c) sums[c] += row[c];
      for (uint64_t c = 0; c < view.channels; ++c) largest[c] = std::max(largest[c], std::fabs(row[c]));
      row += view.channels;
      continue;
    }
    for (uint64_t c = 0; c < view.channels; ++c, row += view.inner) {
      sums[c] += sum_of(row, view.inner);
      largest[c] = std::max(largest[c], largest_of(row, view.inner));
    }
  }
}

}  // namespace optima
