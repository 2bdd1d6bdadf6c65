// SPDX-License-Identifier: Apache-2.0
// core/observe: passes over floats, written so that compilers make vector code of them. Private to the room.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/support/status.hpp"
#include "core/tensor_io/tensor.hpp"

namespace optima {

/// Smallest and largest of some floats as integers of the same order, -0 below 0, NaN beyond the infinities.
struct Extremes {
  int32_t low_key = std::numeric_limits<int32_t>::max(), high_key = std::numeric_limits<int32_t>::min();

  bool all_finite() const;  ///< true of none
  float low() const;        ///< -0 as 0
  float high() const;
};
Extremes extremes_of(std::span<const float> values);

/// The values of an f32, f16, bf16 or f64 tensor; of an f32 one where they lie, else in `room`. What f32 cannot hold becomes an infinity.
/// InvalidInput for other types.
Result<std::span<const float>> floats_of(const Tensor& tensor, std::vector<float>& room);

/// The finite ones among them, in order.
std::vector<float> finite_of(std::span<const float> values);

/// How a tensor lies around its channels: outer x channels x inner.
struct ChannelView {
  uint64_t outer = 1, channels = 1, inner = 1;
};

/// Adds up each channel of one tensor, `sums` and `largest` magnitudes. The order of adding is of the view alone.
void sum_channels(std::span<const float> values, const ChannelView& view, std::vector<double>& sums, std::vector<float>& largest);

/// Adds XᵀX of one tensor, X having a row for each position and a column for each channel, to `gram` (channels x channels).
void add_gram(std::span<const float> values, const ChannelView& view, std::vector<double>& gram);

}  // namespace optima
