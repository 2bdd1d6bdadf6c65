// SPDX-License-Identifier: Apache-2.0
// core/backend: representative data and encodings of the values of one subgraph, for backends that quantize.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/support/blob.hpp"
#include "core/support/status.hpp"

namespace optima {

/// A value in one sample.
struct SampleValue {
  Blob bytes;  ///< dense elements of the value's dtype
  std::vector<int64_t> shape;
};

/// How a value is to be coded: real = (code - zero_point) * scale. Borrowed from the Calibration that gave it.
struct ValueCodes {
  int32_t dtype = 0;  ///< F32, F16 or BF16 = left float, no scales
  int axis = -1;      ///< -1 = one scale, or several of a file that names no axis
  int64_t block = 0;  ///< 0 = one scale per index of the axis
  std::span<const float> scales;
  std::span<const int32_t> zero_points;  ///< as many as scales
};

/// Values are numbers of graph 0 of the job's image. Any thread.
class Calibration {
 public:
  virtual ~Calibration() = default;
  virtual uint32_t samples() const = 0;
  /// Requires sample < samples(). Nothing when the value cannot be computed; a failure ends the compilation.
  virtual Result<std::optional<SampleValue>> read(uint32_t sample, uint32_t value) const = 0;
  /// Nothing when nobody said.
  virtual std::optional<ValueCodes> encoding(uint32_t value) const = 0;
};

}  // namespace optima
